import { callsCollection } from '../../../shared/store/calls-collection.js';
import { bandOf } from '../../../shared/store/prediction-slice.js';
import type { FirstPrediction } from './lead-counts.js';
import { everySlice, type LeadSlice, slicesOfLeads, type Way } from './lead-slices.js';
import { type GradedVersion, leadBatches, type Snapshot } from './snapshot.js';

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

/** Leads from one crm_id up to, and not including, another, in MongoDB's order; undefined: to the last. */
export interface LeadRange {
  readonly from: string;
  readonly until: string | undefined;
}

/**
 * Compares crm_ids as MongoDB does, by their UTF-8 bytes, that is by code points. JavaScript's own `<` compares UTF-16
 * units, and puts the characters beyond U+FFFF, which are two surrogates, before those from U+E000 on.
 * @returns below 0, 0 or above 0
 */
export function compareCrmIds(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index += 1) {
    const [unit, otherUnit] = [one.charCodeAt(index), other.charCodeAt(index)];
    if (unit !== otherUnit) return rankOf(unit) - rankOf(otherUnit);
  }
  return one.length - other.length;
}

/** Whether a lead is in a range. */
export const isInRange = (crmId: string, { from, until }: LeadRange): boolean =>
  (from === '' || compareCrmIds(crmId, from) >= 0) &&
  (until === undefined || compareCrmIds(crmId, until) < 0);

/** Surrogates come last. */
const rankOf = (unit: number): number => (unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit);
