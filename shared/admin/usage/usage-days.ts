import type { Db } from 'mongodb';
import { dayNumber, dayText, monthEndMs, monthStartMs } from '../../contract/dates.js';
import type { UsageCounter } from '../../redis/keys.js';
import { callsCollection, idsOfOrganisation } from '../../store/calls/prediction-segment.js';
import type { LedgerRow } from '../../store/calls/usage-ledger.js';
import { ledgerIndex, UsageRollups } from '../../store/calls/usage-rollups.js';
import { withMongoTimeout } from '../../store/connection/connect.js';
import type { CallHour } from '../../store/console/call-hours.js';

/** One UTC day of a counter. */
export interface UsageDay {
  /** `YYYY-MM-DD` */
  readonly day: string;
  readonly records: number;
  /** Null when calls by hour are not known for the day. */
  readonly calls: number | null;
  /** Whether the day is not rolled up, so that its records may still change. */
  readonly is_open: boolean;
}

/** A page reads at most this many calls of the ledger, which takes some 40 ms. */
const maxLedgerCalls = 10_000;
const timeoutMs = 5_000;

/**
 * The records and calls of a counter's month by UTC day, up to today. Closed days are roll-ups. Open days come from the
 * ledger. With too many calls to read they share the rest of the counter in Redis, as the calls by hour are divided.
 * @param of.used the counter in Redis; undefined when it is not known
 * @param of.hours calls by hour of the month, of this bucket
 */
export async function usageDays(
  database: Db,
  counter: UsageCounter,
  of: { readonly nowMs: number; readonly used: number | undefined; readonly hours: readonly CallHour[] },
): Promise<UsageDay[]> {
  const { nowMs, used, hours } = of;
  const rolledUp = await new UsageRollups(database).read(counter);
  const firstDay = dayNumber(monthStartMs(counter.month));
  const lastDay = dayNumber(Math.min(nowMs, monthEndMs(monthStartMs(counter.month)) - 1));
  const byHour = daySums(hours);
  const open = (await ledgerDays(database, counter, rolledUp.before)) ?? estimated();
  return Array.from({ length: Math.max(0, lastDay - firstDay + 1) }, (_, index) => {
    const day = firstDay + index;
    const closed = rolledUp.days[index];
    // A call that began before midnight counts in the month that began while it waited: it belongs to the first day.
    const records = closed ?? open.get(day) ?? 0;
    const calls = byHour.get(day)?.calls ?? (byHour.size === 0 ? null : 0);
    return { day: dayText(day), records, calls, is_open: closed === undefined };
  });

  function estimated(): Map<number, number> {
    const openDays = [...byHour].filter(([day]) => day >= rolledUp.nextDay);
    const counted = openDays.reduce((sum, [, { records }]) => sum + records, 0);
    const factor = used === undefined || counted === 0 ? 1 : Math.max(0, used - rolledUp.records) / counted;
    return new Map(openDays.map(([day, { records }]) => [day, Math.round(records * factor)]));
  }
}

function daySums(
  hours: readonly CallHour[],
): ReadonlyMap<number, { readonly calls: number; readonly records: number }> {
  const sums = new Map<number, { calls: number; records: number }>();
  for (const { hour, calls, records } of hours) {
    const day = dayNumber(hour.getTime());
    const sum = sums.get(day) ?? { calls: 0, records: 0 };
    sums.set(day, { calls: sum.calls + calls, records: sum.records + records });
  }
  return sums;
}

/**
 * The ledger's records by day from an instant on; undefined when there are too many calls to read. Reads an index
 * alone.
 */
async function ledgerDays(
  database: Db,
  { organisationId: org, bucket, month }: UsageCounter,
  from: Date,
): Promise<Map<number, number> | undefined> {
  const calls = database.collection<LedgerRow>(callsCollection);
  const rows = await withMongoTimeout(timeoutMs, (signal) =>
    calls
      .find(
        { _id: idsOfOrganisation(org), org, bucket, month, at: { $gte: from } },
        { projection: { _id: 0, at: 1, records: 1 }, signal, hint: ledgerIndex },
      )
      .limit(maxLedgerCalls + 1)
      .toArray(),
  );
  if (rows.length > maxLedgerCalls) return undefined;
  const days = new Map<number, number>();
  const firstMs = monthStartMs(month);
  for (const { at, records } of rows) {
    const day = dayNumber(Math.max(firstMs, at.getTime()));
    days.set(day, (days.get(day) ?? 0) + records);
  }
  return days;
}

/** The month (`YYYY-MM`) some months before that of an instant. */
export function monthBefore(nowMs: number, months: number): string {
  const date = new Date(nowMs);
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - months, 1)).toISOString().slice(0, 7);
}
