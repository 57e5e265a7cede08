import { type FirstPredictions, firstPredictionsOf, leadPasses } from './first-predictions.js';
import { LeadCounts, type LeadGroup } from './lead-counts.js';
import { leadsOfDays, wayTo } from './lead-slices.js';
import { type LeadWord, wordsOnLeads, wordsOnRange } from './lead-words.js';
import type { GradedVersion, Snapshot } from './snapshot.js';

/** With more leads than this on the days to be read, all leads are read in passes. */
const mostListedLeads = 200_000;
/** What became of a pass's leads is looked up one by one, and not read through, when they fill less of it than this. */
const smallShare = 1 / 15;

export interface Classification {
  /** Those whose leads are counted, by their first prediction; ascending numbers of UTC days. */
  readonly days: readonly number[];
  /** Predictions up to this instant have matured. */
  readonly cut: Date;
  /** Whether the days are all there are, so that looking for their leads would be in vain. */
  readonly isEverything: boolean;
  /** Leads in memory at once when all are read. */
  readonly leadsAPass: number;
  /** Records of the organisation's live calls on the days that a grade goes by. */
  readonly organisationRecords: number;
}

/**
 * Finds the first prediction of each lead under a version and what became of it, and counts the leads by day and band:
 * the cohort. Columns of slices are decoded and compared here, in memory: taking them apart on the server costs several
 * times as much.
 * @returns at most five groups a day, of the day of the cut ten
 * @throws what MongoDB says
 */
export async function classifyLeads(
  snapshot: Snapshot,
  graded: GradedVersion,
  classification: Classification,
): Promise<LeadGroup[]> {
  const { days, cut, isEverything } = classification;
  if (days.length === 0) return [];
  const counts = new LeadCounts({ horizonDays: graded.horizonDays, cut, days: new Set(days) });
  const leads = isEverything
    ? undefined
    : await leadsOfDays(snapshot, graded, { days, most: mostListedLeads });
  if (leads !== undefined) {
    const firsts = await firstPredictionsOf(snapshot, graded, leads);
    await countLeads(counts, firsts, wordsOnLeads(snapshot, graded, firsts.keys()));
    return counts.found();
  }
  const way = await wayTo(snapshot, classification);
  const options = { way, mostLeads: classification.leadsAPass };
  for await (const { range, firsts } of leadPasses(snapshot, graded, options)) {
    const words =
      firsts.size <= smallShare * options.mostLeads
        ? wordsOnLeads(snapshot, graded, firsts.keys())
        : wordsOnRange(snapshot, graded, range);
    await countLeads(counts, firsts, words);
  }
  return counts.found();
}

/** Counts leads with what became of them; the map is empty afterwards. */
async function countLeads(
  counts: LeadCounts,
  firsts: FirstPredictions,
  words: AsyncIterable<readonly LeadWord[]>,
): Promise<void> {
  for await (const some of words) {
    for (const word of some) {
      const first = firsts.get(word.crm_id);
      if (first === undefined) continue;
      counts.add(first, word);
      firsts.delete(word.crm_id);
    }
  }
  for (const first of firsts.values()) counts.add(first, undefined);
  // The next pass begins while this one's map may still be held.
  firsts.clear();
}
