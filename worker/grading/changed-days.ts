import { monthOf } from '../../shared/clock.js';
import { callsCollection } from '../../shared/store/calls-collection.js';
import type { StoredDay } from '../../shared/store/validation-daily.js';
import { dayNumber, dayStartMs } from '../../shared/utc-day.js';
import type { GradedVersion, Snapshot } from './graded-version.js';

/** Records of live calls of an organisation by day, from a day on; by an index of the ledger alone. */
export async function ledgerByDay(
  { database, session }: Snapshot,
  { organisationId }: GradedVersion,
  fromDay: number,
): Promise<Map<number, number>> {
  const from = dayStartMs(fromDay);
  const days = await database
    .collection(callsCollection)
    .aggregate<{ readonly _id: Date; readonly records: number }>(
      [
        {
          $match: {
            org: organisationId,
            bucket: 'live',
            month: { $gte: monthOf(from) },
            at: { $gte: new Date(from) },
          },
        },
        { $group: { _id: { $dateTrunc: { date: '$at', unit: 'day' } }, records: { $sum: '$records' } } },
      ],
      { session },
    )
    .toArray();
  return new Map(days.map(({ _id, records }) => [dayNumber(_id.getTime()), records]));
}

/** Days whose calls are not those they were computed from, and days from which something was erased. */
export function daysToReadAgain(
  stored: readonly StoredDay[],
  ledger: ReadonlyMap<number, number>,
): Set<number> {
  const known = new Map(stored.map((day) => [day.day, day]));
  const changed = [...ledger].filter(([day, records]) => known.get(day)?.organisation_records !== records);
  const emptied = stored.filter(({ day, stale }) => stale === true || !ledger.has(day));
  return new Set([...changed.map(([day]) => day), ...emptied.map(({ day }) => day)]);
}
