import type { Db } from 'mongodb';
import { dayMs, dayNumber, dayText, monthEndMs, monthStartMs } from '../../contract/dates.js';
import type { UsageCounter } from '../../redis/keys.js';
import { callsCollection, idsOfOrganisation } from '../../store/calls/prediction-segment.js';
import type { LedgerRow } from '../../store/calls/usage-ledger.js';
import { ledgerIndex, settledAfterMs, UsageRollups } from '../../store/calls/usage-rollups.js';
import { withMongoTimeout } from '../../store/connection/connect.js';
import type { BucketDay } from '../../store/console/call-days.js';

/** One UTC day of a counter. */
export interface UsageDay {
  /** `YYYY-MM-DD` */
  readonly day: string;
  readonly records: number;
  /** Null when the calls of the month are not known. */
  readonly calls: number | null;
  /** Whether the records may still change: the day is not rolled up, and the month has calls or has just ended. */
  readonly is_open: boolean;
}

/** A page reads at most this many calls of the ledger, which takes some 40 ms. */
const maxLedgerCalls = 10_000;
const timeoutMs = 5_000;
/** The number of a call's UTC day. `$dateTrunc` takes MongoDB longer. */
const dayOfCall = { $floor: { $divide: [{ $toLong: '$at' }, dayMs] } };

/**
 * The records and calls of a counter's month by UTC day, up to today. Closed days are roll-ups. Open days come from the
 * ledger. With too many calls to read they share the rest of the counter in Redis, in proportion to `of.calls`.
 * @param of.used the counter in Redis; undefined when it is not known
 * @param of.calls calls of the month by day, of any buckets; read at the same time as the ledger
 */
export async function usageDays(
  database: Db,
  counter: UsageCounter,
  of: { readonly nowMs: number; readonly used: number | undefined; readonly calls: Promise<readonly BucketDay[]> },
): Promise<UsageDay[]> {
  const { nowMs, used } = of;
  const rolledUp = await new UsageRollups(database).read(counter);
  const firstDay = dayNumber(monthStartMs(counter.month));
  const lastDay = dayNumber(Math.min(nowMs, monthEndMs(monthStartMs(counter.month)) - 1));
  const [ledger, calls] = await Promise.all([ledgerDays(database, counter, rolledUp.before), of.calls]);
  const called = new Map(calls.filter(({ bucket }) => bucket === counter.bucket).map((each) => [each.day, each]));
  const open = ledger ?? estimated();
  // Without calls, there is no counter whose days are rolled up.
  const isEmpty = ledger?.size === 0 && rolledUp.days.length === 0;
  const isSettled = isEmpty && nowMs - monthEndMs(monthStartMs(counter.month)) >= settledAfterMs;
  return Array.from({ length: Math.max(0, lastDay - firstDay + 1) }, (_, index) => {
    const day = firstDay + index;
    const closed = rolledUp.days[index];
    // A call that began before midnight counts in the month that began while it waited: it belongs to the first day.
    const records = closed ?? open.get(day) ?? 0;
    const calls = called.get(day)?.calls ?? (called.size === 0 ? null : 0);
    return { day: dayText(day), records, calls, is_open: closed === undefined && !isSettled };
  });

  function estimated(): Map<number, number> {
    const openDays = [...called].filter(([day]) => day >= rolledUp.nextDay);
    const counted = openDays.reduce((sum, [, { records }]) => sum + records, 0);
    const factor = used === undefined || counted === 0 ? 1 : Math.max(0, used - rolledUp.records) / counted;
    return new Map(openDays.map(([day, { records }]) => [day, Math.round(records * factor)]));
  }
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
  const found = await withMongoTimeout(timeoutMs, (signal) => {
    // The cursor obeys `signal`, although the type of the options lacks it.
    const options = { signal, hint: ledgerIndex };
    const open = { _id: idsOfOrganisation(org), org, bucket, month, at: { $gte: from } };
    const sums = { _id: dayOfCall, calls: { $sum: 1 }, records: { $sum: '$records' } };
    const stages = [{ $match: open }, { $limit: maxLedgerCalls + 1 }, { $group: sums }];
    return calls
      .aggregate<{ readonly _id: number; readonly calls: number; readonly records: number }>(stages, options)
      .toArray();
  });
  if (found.reduce((sum, each) => sum + each.calls, 0) > maxLedgerCalls) return undefined;
  const days = new Map<number, number>();
  const firstDay = dayNumber(monthStartMs(month));
  for (const { _id: at, records } of found) {
    const day = Math.max(firstDay, at);
    days.set(day, (days.get(day) ?? 0) + records);
  }
  return days;
}

/** The month of the first call of a bucket in the ledger; undefined without one. Earlier months have no records. */
export async function firstMonth(
  database: Db,
  { organisationId: org, bucket }: Pick<UsageCounter, 'organisationId' | 'bucket'>,
): Promise<string | undefined> {
  const calls = database.collection<LedgerRow>(callsCollection);
  const of = { _id: idsOfOrganisation(org), org, bucket };
  const first = await withMongoTimeout(timeoutMs, (signal) =>
    calls.findOne(of, { projection: { _id: 0, month: 1 }, sort: { month: 1 }, hint: ledgerIndex, signal }),
  );
  return first?.month;
}

/** The month (`YYYY-MM`) some months before that of an instant. */
export function monthBefore(nowMs: number, months: number): string {
  const date = new Date(nowMs);
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - months, 1)).toISOString().slice(0, 7);
}

/** The days of some buckets as CSV, one line a day and bucket. Numbers, dates and names of buckets need no quotes. */
export function usageCsv(usage: {
  readonly buckets: readonly {
    readonly bucket: string;
    readonly days: readonly Pick<UsageDay, 'day' | 'records' | 'calls'>[];
  }[];
}): string {
  const { buckets } = usage;
  const rows = buckets.flatMap(({ bucket, days }) =>
    days.map(({ day, records, calls }) => [day, bucket, records, calls ?? ''].join(',')),
  );
  return `${['day,keys,records,calls', ...rows].join('\r\n')}\r\n`;
}
