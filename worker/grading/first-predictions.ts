import { callsCollection } from '../../shared/store/calls-collection.js';
import { bandOf } from '../../shared/store/prediction-slice.js';
import type { GradedVersion, Snapshot } from './graded-version.js';
import { leadBatches } from './lead-batches.js';
import { everySlice, type LeadSlice, slicesOfLeads } from './lead-slices.js';
import type { FirstPrediction } from './lead-standing.js';

/** The first prediction of leads, by crm_id; each says which slice it is from. */
export type FirstPredictions = Map<string, FirstPrediction & { readonly sliceId: string }>;

/** As many slices are always read by the index. */
const defaultFewSlices = 2_000;

/**
 * Takes down the predictions of a slice that are earlier than what is known of their leads; slices may come in any order
 * and more than once. Ids of slices ascend with time, and so do the rows of a slice.
 * @param isWanted which leads are of interest: all by default
 */
export function noteFirsts(
  firsts: FirstPredictions,
  { _id: sliceId, at, crm_ids: crmIds, scores, likelihoods }: LeadSlice,
  isWanted?: (crmId: string) => boolean,
): void {
  for (let row = 0; row < crmIds.length; row += 1) {
    const crmId = crmIds[row];
    if (typeof crmId !== 'string' || isWanted?.(crmId) === false) continue;
    const known = firsts.get(crmId);
    if (known !== undefined && known.sliceId <= sliceId) continue;
    firsts.set(crmId, { sliceId, at, band: bandOf(scores[row] ?? 0), likelihood: likelihoods[row] ?? 0 });
  }
}

/**
 * The first prediction of each of some leads under a version, for those that have any. By the index of leads, or from
 * all slices where the index would lead to most of them.
 * @param leads as many as fit into memory
 * @param options `fewSlices`: as many are read by the index in any case
 * @throws what MongoDB says
 */
export async function firstPredictionsOf(
  snapshot: Snapshot,
  graded: GradedVersion,
  leads: ReadonlySet<string>,
  { fewSlices = defaultFewSlices }: { readonly fewSlices?: number } = {},
): Promise<FirstPredictions> {
  const stored = await snapshot.database.collection(callsCollection).estimatedDocumentCount();
  // A slice that is looked for costs about as much as two that lie one after the other.
  const mostSlices = Math.max(fewSlices, stored / 2);
  const firsts: FirstPredictions = new Map();
  const isWanted = (crmId: string): boolean => leads.has(crmId);
  let read = 0;
  for (const some of leadBatches(leads)) {
    for await (const slices of slicesOfLeads(snapshot, graded, some)) {
      for (const slice of slices) noteFirsts(firsts, slice, isWanted);
      read += slices.length;
      if (read <= mostSlices) continue;
      for await (const all of everySlice(snapshot, graded, 'collection'))
        for (const slice of all) noteFirsts(firsts, slice, isWanted);
      return firsts;
    }
  }
  return firsts;
}
