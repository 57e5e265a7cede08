import type { Document } from 'mongodb';
import { dayNumber, dayStartMs } from '../../../shared/contract/dates.js';
import { callIdFloor } from '../../../shared/contract/identifiers.js';
import type { DayRequests } from '../../../shared/store/validation/validation-daily.js';
import { type GradedVersion, type Snapshot, sourcesOf } from './snapshot.js';

/** Days per aggregation, so that the calls of one `$group` stage fit into memory. */
const maxBlockDays = 31;

/** The range of ids that contains all calls of an organisation on some days. */
export const idsOfDays = (organisationId: string, first: number, last: number) => ({
  $gte: callIdFloor(dayStartMs(first), organisationId),
  $lt: callIdFloor(dayStartMs(last + 1), organisationId),
});

/**
 * Compares the stored rows of each call with the ledger, and counts rows without a lead. It reads ranges of
 * ids, a month at a time. It reads only the lengths and counters of segments.
 * @param days ascending numbers of UTC days
 * @returns one entry per day that has calls
 */
export async function scanRequests(
  snapshot: Snapshot,
  graded: GradedVersion,
  days: readonly number[],
): Promise<Map<number, DayRequests>> {
  const found = new Map<number, DayRequests>();
  for (const { first, last } of blocksOf(days)) {
    for (const { find, of } of sourcesOf(graded)) {
      const pipeline = requestsPipeline(graded, { first, last, of });
      const options = { session: snapshot.session, allowDiskUse: true, hint: { _id: 1 } };
      const rows = snapshot.database
        .collection(find)
        .aggregate<DayRequests & { readonly _id: Date }>(pipeline, options);
      for await (const { _id, ...figures } of rows) {
        const day = dayNumber(_id.getTime());
        found.set(day, sumOf(figures, found.get(day)));
      }
    }
  }
  return found;
}

/** A version may have calls of its own on a day on which it scored as a candidate, too. */
function sumOf(one: DayRequests, other: DayRequests | undefined): DayRequests {
  if (other === undefined) return one;
  return {
    ledger_records: one.ledger_records + other.ledger_records,
    stored_rows: one.stored_rows + other.stored_rows,
    mismatched_requests: one.mismatched_requests + other.mismatched_requests,
    without_crm_id: one.without_crm_id + other.without_crm_id,
    erased: one.erased + other.erased,
  };
}

/** Groups neighbouring days into blocks of at most 31 days. */
export function blocksOf(days: readonly number[]): { readonly first: number; readonly last: number }[] {
  const blocks: { first: number; last: number }[] = [];
  for (const day of days) {
    const current = blocks.at(-1);
    if (current !== undefined && day - current.last <= 1 && day - current.first < maxBlockDays) current.last = day;
    else blocks.push({ first: day, last: day });
  }
  return blocks;
}

function requestsPipeline(
  { organisationId, modelId, version }: GradedVersion,
  { first, last, of }: { readonly first: number; readonly last: number; readonly of: Document },
): Document[] {
  const at = { $gte: new Date(dayStartMs(first)), $lt: new Date(dayStartMs(last + 1)) };
  // The second and later segments of a call have no bucket, and those of a candidate neither.
  const ofLiveCalls = { org: organisationId, model: modelId, version, at, bucket: { $ne: 'test' } };
  return [
    { $match: { _id: idsOfDays(organisationId, first, last), ...ofLiveCalls, ...of } },
    {
      $group: {
        _id: { $substrBytes: ['$_id', 0, 26] },
        at: { $min: '$at' },
        ledger: { $sum: '$records' },
        stored: { $sum: { $size: { $ifNull: ['$scores', []] } } },
        erased: { $sum: '$erased' },
        without: { $sum: '$without_crm_id' },
      },
    },
    {
      $group: {
        _id: { $dateTrunc: { date: '$at', unit: 'day' } },
        ledger_records: { $sum: '$ledger' },
        stored_rows: { $sum: '$stored' },
        mismatched_requests: { $sum: { $cond: [{ $ne: ['$ledger', '$stored'] }, 1, 0] } },
        without_crm_id: { $sum: '$without' },
        erased: { $sum: '$erased' },
      },
    },
  ];
}
