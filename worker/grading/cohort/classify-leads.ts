import { type FirstPredictions, firstPredictionsOf, leadPasses } from './first-predictions.js';
import { LeadCounts, type LeadGroup } from './lead-counts.js';
import { type LeadOutcome, outcomesOfLeads, outcomesOfRange } from './lead-outcomes.js';
import { leadsOfDays } from './lead-segments.js';
import type { GradedVersion, Snapshot } from './snapshot.js';

/** If the selected days have more leads, all leads are read in passes. */
const maxListedLeads = 200_000;
/** A pass that is less full looks up the outcomes of its leads instead of scanning their range. */
const maxLookupShare = 1 / 15;

export interface Classification {
  /** Ascending numbers of the UTC days to count; a lead counts on the day of its first prediction. */
  readonly days: readonly number[];
  /** Predictions up to this instant have matured. */
  readonly cut: Date;
  /** Whether `days` are all days, so that listing their leads first would save nothing. */
  readonly isEverything: boolean;
  /** Maximum leads in memory when all leads are read. */
  readonly maxLeadsPerPass: number;
}

/**
 * Builds the cohort: finds the first prediction and the outcome of each lead, and counts leads by day and band.
 * Segments are decoded and compared in memory, because unwinding them on the server costs several times as much.
 * @returns at most five groups per day, and ten for the day of the cut
 * @throws MongoDB errors
 */
export async function classifyLeads(
  snapshot: Snapshot,
  graded: GradedVersion,
  classification: Classification,
): Promise<LeadGroup[]> {
  const { days, cut, isEverything } = classification;
  if (days.length === 0) return [];
  const counts = new LeadCounts({ horizonDays: graded.horizonDays, cut, days: new Set(days) });
  const leads = isEverything ? undefined : await leadsOfDays(snapshot, graded, { days, max: maxListedLeads });
  if (leads !== undefined) {
    const firsts = await firstPredictionsOf(snapshot, graded, leads);
    await countLeads(counts, firsts, outcomesOfLeads(snapshot, graded, firsts.keys()));
    return counts.found();
  }
  const options = { maxLeads: classification.maxLeadsPerPass };
  for await (const { range, firsts } of leadPasses(snapshot, graded, options)) {
    const outcomes =
      firsts.size <= maxLookupShare * options.maxLeads
        ? outcomesOfLeads(snapshot, graded, firsts.keys())
        : outcomesOfRange(snapshot, graded, range);
    await countLeads(counts, firsts, outcomes);
  }
  return counts.found();
}

/** Counts leads with their outcomes, and empties the map. */
async function countLeads(
  counts: LeadCounts,
  firsts: FirstPredictions,
  outcomes: AsyncIterable<readonly LeadOutcome[]>,
): Promise<void> {
  for await (const batch of outcomes) {
    for (const outcome of batch) {
      const first = firsts.get(outcome.crm_id);
      if (first === undefined) continue;
      counts.add(first, outcome);
      firsts.delete(outcome.crm_id);
    }
  }
  for (const first of firsts.values()) counts.add(first, undefined);
  // Frees the memory now: the next pass starts while this map may still be referenced.
  firsts.clear();
}
