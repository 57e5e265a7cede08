import type { Db } from 'mongodb';
import { dayMs, dayNumber, dayStartMs, dayText, monthEndMs, monthOf, monthStartMs } from '../../contract/dates.js';
import type { UsageCounter } from '../../redis/keys.js';
import { callsCollection, idsOfOrganisation } from '../../store/calls/prediction-segment.js';
import type { LedgerRow } from '../../store/calls/usage-ledger.js';
import { ledgerIndex, type RolledUpDays, settledAfterMs, UsageRollups } from '../../store/calls/usage-rollups.js';
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

/** A page reads at most this many calls of the ledger for each open month, which takes some 40 ms. */
const maxLedgerCalls = 10_000;
const timeoutMs = 5_000;
/** The number of a call's UTC day. `$dateTrunc` takes MongoDB longer. */
const dayOfCall = { $floor: { $divide: [{ $toLong: '$at' }, dayMs] } };

/**
 * The records and calls of a counter's month by UTC day, up to today.
 * @param of.used the counter in Redis; undefined when it is not known
 * @param of.calls as in `usageOfMonths`
 */
export async function usageDays(
  database: Db,
  { month, ...bucket }: UsageCounter,
  { used, ...of }: { readonly nowMs: number; readonly used: number | undefined; readonly calls: CallsByDay },
): Promise<UsageDay[]> {
  return await usageOfMonths(database, { ...bucket, months: [month] }, { ...of, used: new Map([[month, used]]) });
}

type CallsByDay = Promise<readonly BucketDay[]>;
type BucketOf = Omit<UsageCounter, 'month'>;

/**
 * The records and calls of a bucket by UTC day, up to today. Closed days are roll-ups. Open days come from the ledger.
 * With too many calls to read they share the rest of the counter in Redis, in proportion to `of.calls`. Two queries
 * read all months.
 * @param bucket.months without gaps, earliest first
 * @param of.used the counters in Redis by month, as far as they are known
 * @param of.calls calls of these months by day, of any buckets; read at the same time as the roll-ups
 */
export async function usageOfMonths(
  database: Db,
  { months, ...bucket }: BucketOf & { readonly months: readonly string[] },
  of: {
    readonly nowMs: number;
    readonly used: ReadonlyMap<string, number | undefined>;
    readonly calls: CallsByDay;
  },
): Promise<UsageDay[]> {
  const rolledUp = await new UsageRollups(database).readMonths(bucket, months);
  const read = months.flatMap((month, index) => {
    const days = rolledUp[index];
    return days === undefined ? [] : [{ month, rolledUp: days }];
  });
  const open = read
    .filter(({ month, rolledUp: { nextDay } }) => monthOf(dayStartMs(nextDay)) === month)
    .map(({ month, rolledUp: { before } }) => ({ month, from: before }));
  const called = (await of.calls).filter((each) => each.bucket === bucket.bucket);
  const openCalls = open.flatMap(({ month, from }) =>
    called.filter(({ day }) => monthOf(dayStartMs(day)) === month && dayStartMs(day) >= from.getTime()),
  );
  // So many calls are not read only to find that there are more.
  const areTooMany = sumOf(openCalls, ({ scored }) => scored) > open.length * maxLedgerCalls;
  const ledger = areTooMany ? undefined : await ledgerDays(database, bucket, open);
  return read.flatMap(({ month, rolledUp: days }) =>
    daysOfMonth(month, {
      ...{ rolledUp: days, nowMs: of.nowMs, used: of.used.get(month) },
      ledger: ledger && (ledger.get(month) ?? new Map()),
      called: new Map(called.filter(({ day }) => monthOf(dayStartMs(day)) === month).map((each) => [each.day, each])),
    }),
  );
}

function daysOfMonth(
  month: string,
  of: {
    readonly rolledUp: RolledUpDays;
    readonly nowMs: number;
    readonly used: number | undefined;
    /** Records of open days; undefined when the months that are read have too many calls. */
    readonly ledger: ReadonlyMap<number, number> | undefined;
    readonly called: ReadonlyMap<number, BucketDay>;
  },
): UsageDay[] {
  const { rolledUp, nowMs, used, ledger, called } = of;
  const firstDay = dayNumber(monthStartMs(month));
  const lastDay = dayNumber(Math.min(nowMs, monthEndMs(monthStartMs(month)) - 1));
  const open = ledger ?? estimated();
  const isCounted = ledger === undefined ? [...called.values()].some(({ records }) => records > 0) : ledger.size > 0;
  // Without calls, there is no counter whose days are rolled up.
  const isEmpty = !isCounted && rolledUp.days.length === 0;
  const isSettled = isEmpty && nowMs - monthEndMs(monthStartMs(month)) >= settledAfterMs;
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
 * The ledger's records by month and day; undefined when there are too many calls to read. Reads an index alone.
 * @param open months, each from an instant on
 */
async function ledgerDays(
  database: Db,
  { organisationId: org, bucket }: BucketOf,
  open: readonly { readonly month: string; readonly from: Date }[],
): Promise<ReadonlyMap<string, ReadonlyMap<number, number>> | undefined> {
  const days = new Map<string, Map<number, number>>();
  if (open.length === 0) return days;
  const most = open.length * maxLedgerCalls;
  const calls = database.collection<LedgerRow>(callsCollection);
  const found = await withMongoTimeout(timeoutMs, (signal) => {
    // The cursor obeys `signal`, although the type of the options lacks it.
    const options = { signal, hint: ledgerIndex };
    const own = { _id: idsOfOrganisation(org), org, bucket };
    const $match = { $or: open.map(({ month, from }) => ({ ...own, month, at: { $gte: from } })) };
    const sums = { _id: { month: '$month', day: dayOfCall }, calls: { $sum: 1 }, records: { $sum: '$records' } };
    const stages = [{ $match }, { $limit: most + 1 }, { $group: sums }];
    return calls
      .aggregate<{
        readonly _id: { readonly month: string; readonly day: number };
        readonly calls: number;
        readonly records: number;
      }>(stages, options)
      .toArray();
  });
  if (sumOf(found, ({ calls }) => calls) > most) return undefined;
  for (const { _id, records } of found) {
    const day = Math.max(dayNumber(monthStartMs(_id.month)), _id.day);
    const ofMonth = days.get(_id.month) ?? new Map<number, number>();
    days.set(_id.month, ofMonth.set(day, (ofMonth.get(day) ?? 0) + records));
  }
  return days;
}

const sumOf = <Each>(some: readonly Each[], of: (each: Each) => number): number =>
  some.reduce((sum, each) => sum + of(each), 0);

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
