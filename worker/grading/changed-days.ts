import { monthOf } from '../../shared/clock.js';
import { callIdTimeMs } from '../../shared/identifiers.js';
import type { OutcomeStore } from '../../shared/store/outcomes.js';
import { leadIndex } from '../../shared/store/predictions.js';
import type { StoredDay } from '../../shared/store/validation-daily.js';
import { dayNumber, dayStartMs } from '../../shared/utc-day.js';
import type { GradedVersion, Snapshot } from './graded-version.js';
import { daysOfId } from './scan-requests.js';

/** Changed outcomes that are traced to their days one by one; more of them touch nearly every day anyway. */
const mostTracedOutcomes = 20_000;
const tracedAtOnce = 5_000;

/** Records of live calls of an organisation by day, from a day on; by an index of the ledger alone. */
export async function ledgerByDay(
  { database, session }: Snapshot,
  { organisationId }: GradedVersion,
  fromDay: number,
): Promise<Map<number, number>> {
  const from = dayStartMs(fromDay);
  const days = await database
    .collection('usage_ledger')
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

/**
 * Days with a prediction of a lead whose outcome has changed since an instant of the database's clock.
 * @returns undefined when so much has changed that all days may as well be computed again
 */
export async function daysWithChangedOutcomes(
  { database, session }: Snapshot,
  { organisationId, modelId }: GradedVersion,
  { outcomes, since }: { readonly outcomes: OutcomeStore; readonly since: Date },
): Promise<Set<number> | undefined> {
  const crmIds = await outcomes.changedSince(organisationId, since, { most: mostTracedOutcomes });
  if (crmIds === undefined) return undefined;
  const days = new Set<number>();
  for (let start = 0; start < crmIds.length; start += tracedAtOnce) {
    const some = crmIds.slice(start, start + tracedAtOnce);
    const ids = database
      .collection<{ _id: string; crm_id: string }>('predictions')
      .find(
        { org: organisationId, crm_id: { $in: some }, model: modelId },
        { projection: { _id: 1 }, hint: leadIndex, session },
      );
    for await (const { _id } of ids) for (const day of daysOfId(callIdTimeMs(_id))) days.add(day);
  }
  return days;
}
