import { bandOf, callsCollection } from '../../../shared/store/calls/prediction-segment.js';
import type { FirstPrediction } from './lead-counts.js';
import { allSegments, type LeadSegment, segmentsOfLeads } from './lead-segments.js';
import { type GradedVersion, leadBatches, type Snapshot } from './snapshot.js';

/** First predictions by crm_id, each with the id of its segment. */
export type FirstPredictions = Map<string, FirstPrediction & { readonly segmentId: string }>;

/** Up to this many segments are always read through the index. */
const defaultMinIndexSegments = 2_000;

/**
 * Adds the predictions of a segment that precede the known ones of their leads. Segments may come in any order and
 * repeatedly. Segment ids and the rows of a segment are in chronological order.
 * @param isWanted selects leads; default: all
 */
function addFirstPredictions(
  firsts: FirstPredictions,
  { _id: segmentId, at, crm_ids: crmIds, scores, likelihoods }: LeadSegment,
  isWanted?: (crmId: string) => boolean,
): void {
  for (let row = 0; row < crmIds.length; row += 1) {
    const crmId = crmIds[row];
    if (typeof crmId !== 'string' || isWanted?.(crmId) === false) continue;
    const known = firsts.get(crmId);
    if (known !== undefined && known.segmentId <= segmentId) continue;
    firsts.set(crmId, { segmentId, at, band: bandOf(scores[row] ?? 0), likelihood: likelihoods[row] ?? 0 });
  }
}

/**
 * Finds the first predictions of given leads under a version. It uses the lead index, or scans all segments if the
 * index would read most of them.
 * @param leads must fit into memory
 * @param options `minIndexSegments`: segments that are read through the index in any case
 * @throws MongoDB errors
 */
export async function firstPredictionsOf(
  snapshot: Snapshot,
  graded: GradedVersion,
  leads: ReadonlySet<string>,
  { minIndexSegments = defaultMinIndexSegments }: { readonly minIndexSegments?: number } = {},
): Promise<FirstPredictions> {
  const stored = await snapshot.database.collection(callsCollection).estimatedDocumentCount();
  // One segment through the index costs about as much as two segments of a scan.
  const maxSegments = Math.max(minIndexSegments, stored / 2);
  const firsts: FirstPredictions = new Map();
  const isWanted = (crmId: string): boolean => leads.has(crmId);
  let read = 0;
  for (const some of leadBatches(leads)) {
    for await (const segments of segmentsOfLeads(snapshot, graded, some)) {
      for (const segment of segments) addFirstPredictions(firsts, segment, isWanted);
      read += segments.length;
      if (read <= maxSegments) continue;
      for await (const all of allSegments(snapshot, graded))
        for (const segment of all) addFirstPredictions(firsts, segment, isWanted);
      return firsts;
    }
  }
  return firsts;
}

/** Maximum leads in memory; reading them takes about 100 MB of heap. */
export const maxLeadsPerPass = 300_000;
/** Share of its leads that a pass keeps when it has too many. */
const keptShare = 3 / 4;
/** Sample size for finding the end of that share. */
const sampledLeads = 1_000;

/** The leads of one pass through all segments. */
export interface LeadPass {
  readonly range: LeadRange;
  /** First predictions of all leads in the range. */
  readonly firsts: FirstPredictions;
}

/**
 * Finds the first prediction of every lead of a version, in passes over its segments. A pass with too many leads
 * continues with the lower crm_ids and leaves the others to the next pass. The number and distribution of ids need not
 * be known.
 * @param options `maxLeads`: limit in memory, may be exceeded by one batch
 * @returns consecutive ranges that cover every scored lead
 * @throws MongoDB errors
 */
export async function* leadPasses(
  snapshot: Snapshot,
  graded: GradedVersion,
  options: { readonly maxLeads: number },
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
  { from, maxLeads }: { readonly from: string; readonly maxLeads: number },
): Promise<LeadPass> {
  const firsts: FirstPredictions = new Map();
  let range: LeadRange = { from, until: undefined };
  const isWanted = (crmId: string): boolean => isInRange(crmId, range);
  for await (const segments of allSegments(snapshot, graded)) {
    for (const segment of segments) addFirstPredictions(firsts, segment, isWanted);
    while (firsts.size > Math.max(1, maxLeads)) {
      range = { from, until: endOfShare(firsts) };
      for (const crmId of firsts.keys()) if (!isWanted(crmId)) firsts.delete(crmId);
    }
  }
  return { firsts, range };
}

/** A crm_id near the end of the kept share of at least two leads: above the lowest, at most the highest. */
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
  if (end === undefined) throw new Error('a single lead cannot be split into two ranges');
  return end;
}

/** Leads from one crm_id to another (exclusive), in MongoDB's order. Without `until`, to the last lead. */
export interface LeadRange {
  readonly from: string;
  readonly until: string | undefined;
}

/**
 * Compares crm_ids like MongoDB, by UTF-8 bytes, which is code point order. JavaScript's `<` compares UTF-16 units and
 * sorts characters above U+FFFF (surrogate pairs) before U+E000.
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
  (from === '' || compareCrmIds(crmId, from) >= 0) && (until === undefined || compareCrmIds(crmId, until) < 0);

/** Sorts surrogates last. */
const rankOf = (unit: number): number => (unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit);
