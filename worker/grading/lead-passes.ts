import { compareCrmIds, isInRange, type LeadRange } from './crm-id-order.js';
import { type FirstPredictions, noteFirsts } from './first-predictions.js';
import type { GradedVersion, Snapshot } from './graded-version.js';
import { everySlice, type Way } from './lead-slices.js';

/** Leads whose first predictions are in memory at once: with all that reading them takes, a heap of 100 MB. */
export const leadsAPass = 300_000;
/** Of the leads that were met, what a pass goes on with when they are too many. */
const keptShare = 3 / 4;
/** Leads by which it is told where that share ends. */
const sampledLeads = 1_000;

/** The leads of one pass through all slices. */
export interface LeadPass {
  readonly range: LeadRange;
  /** Of all leads of the range that have any. */
  readonly firsts: FirstPredictions;
}

/**
 * Finds the first prediction of every lead of a version, in as many passes through its slices as memory asks for. A
 * pass that meets more leads than it may hold goes on with the lower ones by crm_id, and leaves the others to the next:
 * nobody need know beforehand how many there are, or how their ids are spread.
 * @param options `mostLeads`: in memory at once; those of one reply may come on top; `way`: by which slices are read
 * @returns ranges that follow each other, and hold every lead that was scored
 * @throws what MongoDB says
 */
export async function* leadPasses(
  snapshot: Snapshot,
  graded: GradedVersion,
  options: { readonly mostLeads: number; readonly way: Way },
): AsyncGenerator<LeadPass> {
  let from: string | undefined = '';
  while (from !== undefined) {
    const pass: LeadPass = await onePass(snapshot, graded, { ...options, from });
    yield pass;
    from = pass.range.until;
  }
}

async function onePass(
  snapshot: Snapshot,
  graded: GradedVersion,
  { from, mostLeads, way }: { readonly from: string; readonly mostLeads: number; readonly way: Way },
): Promise<LeadPass> {
  const firsts: FirstPredictions = new Map();
  let range: LeadRange = { from, until: undefined };
  const isWanted = (crmId: string): boolean => isInRange(crmId, range);
  for await (const slices of everySlice(snapshot, graded, way)) {
    for (const slice of slices) noteFirsts(firsts, slice, isWanted);
    while (firsts.size > Math.max(1, mostLeads)) {
      range = { from, until: endOfShare(firsts) };
      for (const crmId of firsts.keys()) if (!isWanted(crmId)) firsts.delete(crmId);
    }
  }
  return { firsts, range };
}

/** Where about the kept share of at least two leads ends, by crm_id: behind the lowest, and not behind the highest. */
function endOfShare(firsts: FirstPredictions): string {
  const step = Math.ceil(firsts.size / sampledLeads);
  const sampled: string[] = [];
  let index = 0;
  for (const crmId of firsts.keys()) {
    if (index % step === 0) sampled.push(crmId);
    index += 1;
  }
  sampled.sort(compareCrmIds);
  const end = sampled[Math.max(1, Math.floor(sampled.length * keptShare))];
  if (end === undefined) throw new Error('one lead alone cannot be shared out');
  return end;
}
