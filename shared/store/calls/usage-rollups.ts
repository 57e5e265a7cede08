import { type Collection, type Db, MongoServerError } from 'mongodb';
import { dayMs, dayNumber, dayStartMs, dayText, monthOf, monthStartMs } from '../../contract/dates.js';
import type { UsageBucket, UsageCounter } from '../../redis/keys.js';
import { duplicateKey, withMongoTimeout } from '../connection/connect.js';
import { callsCollection, idsOfOrganisation } from './prediction-segment.js';

/**
 * Index of the ledger rows in `calls`, for sums and snapshots. Further segments of a call have no bucket, and no entry.
 */
export const ledgerIndex = { org: 1, bucket: 1, month: 1, at: 1, records: 1, _id: 1 } as const;

/** One document of `usage_daily`: the records of a counter's calls of one UTC day. Immutable. */
interface DailyUsage {
  /** `<organisation>:<bucket>:<day>`. */
  readonly _id: string;
  readonly org: string;
  readonly bucket: UsageBucket;
  /** `YYYY-MM`. */
  readonly month: string;
  /** `YYYY-MM-DD`. */
  readonly day: string;
  readonly records: number;
}

/** The rolled-up days of a counter: those from the first of the month up to the first day without a roll-up. */
export interface RolledUpDays {
  /** Sum of the days. */
  readonly records: number;
  /** The records of each day, from the first of the month on. */
  readonly days: readonly number[];
  /** Number of the first UTC day that is not rolled up. */
  readonly nextDay: number;
  /** The days hold all calls of the counter that are dated before this, and no other. */
  readonly before: Date;
}

/**
 * Age of the calls of a day when it is rolled up. A call is recorded within seconds, or never; the rest is for clocks
 * of machines that slept.
 */
export const settledAfterMs = 26 * 60 * 60 * 1000;
/** Older calls cannot be voided. The other 13 h to the roll-up are for clocks that differ. */
export const maxVoidAgeMs = settledAfterMs / 2;
const timeoutMs = 10_000;
const sumTimeoutMs = 30_000; // MongoDB reads 0.5 to 1 million calls a second

/**
 * Roll-ups of the ledger by UTC day, so that a snapshot of a counter reads only the calls of its latest days. They are
 * derived from the calls: deleted ones are made again.
 */
export class UsageRollups {
  private readonly days: Collection<DailyUsage>;
  private readonly calls: Collection;

  constructor(database: Db) {
    this.days = database.collection<DailyUsage>('usage_daily');
    this.calls = database.collection(callsCollection);
  }

  /**
   * Reads the rolled-up days of a counter. Read the calls dated from `before` on after this, not earlier. A day that is
   * rolled up in between is then among these calls, so none is counted twice or missed.
   */
  async read(counter: UsageCounter): Promise<RolledUpDays> {
    return rolledUpDays(counter.month, await this.rows(counter, counter.month, counter.month));
  }

  /**
   * As `read`, for several months of a bucket by one query.
   * @param months without gaps, earliest first
   * @returns one for each month
   */
  async readMonths(of: Omit<UsageCounter, 'month'>, months: readonly string[]): Promise<RolledUpDays[]> {
    const [first, last] = [months.at(0), months.at(-1)];
    if (first === undefined || last === undefined) return [];
    const rows = await this.rows(of, first, last);
    return months.map((month) =>
      rolledUpDays(
        month,
        rows.filter((row) => row.month === month),
      ),
    );
  }

  private rows(of: Omit<UsageCounter, 'month'>, firstMonth: string, lastMonth: string): Promise<DailyUsage[]> {
    const ids = { $gte: idOf(of, `${firstMonth}-01`), $lte: idOf(of, `${lastMonth}-31`) };
    return withMongoTimeout(timeoutMs, (signal) =>
      this.days.find({ _id: ids }, { sort: { _id: 1 }, readConcern: 'majority', signal }).toArray(),
    );
  }

  /**
   * Rolls up the days of a counter whose calls are all at least 26 h old, in order. Any number of processes may do so
   * at once: they write the same.
   * @throws the driver's error or MongoTimeout; days rolled up before it stay
   */
  async advance(counter: UsageCounter, nowMs: number): Promise<void> {
    const { organisationId: org, bucket, month } = counter;
    let { nextDay, before: from } = await this.read(counter);
    for (; monthOf(dayStartMs(nextDay)) === month; nextDay += 1) {
      const endMs = dayStartMs(nextDay) + dayMs;
      if (nowMs - endMs < settledAfterMs) return;
      const before = new Date(endMs);
      const day = dayText(nextDay);
      const records = await this.sumBetween(counter, from, before);
      await this.insert({ _id: idOf(counter, day), org, bucket, month, day, records });
      from = before;
    }
  }

  /** Reads the index of the ledger alone, no documents. */
  private async sumBetween(counter: UsageCounter, from: Date, before: Date): Promise<number> {
    const { organisationId: org, bucket, month } = counter;
    const [total] = await withMongoTimeout(sumTimeoutMs, (signal) =>
      this.calls
        .aggregate<{ readonly records: number }>(
          [
            { $match: { _id: idsOfOrganisation(org), org, bucket, month, at: { $gte: from, $lt: before } } },
            { $group: { _id: null, records: { $sum: '$records' } } },
          ],
          { readConcern: 'majority', signal, hint: ledgerIndex },
        )
        .toArray(),
    );
    return total?.records ?? 0;
  }

  /** Inserts a day unless another process has: its calls no longer change, so that both have the same sum. */
  private async insert(day: DailyUsage): Promise<void> {
    const options = { writeConcern: { w: 'majority' } } as const;
    await withMongoTimeout(timeoutMs, () => this.days.insertOne(day, options)).catch((error: unknown) => {
      if (!(error instanceof MongoServerError) || error.code !== duplicateKey) throw error;
    });
  }
}

/** @param rows of the month, in the order of their days */
function rolledUpDays(month: string, rows: readonly DailyUsage[]): RolledUpDays {
  const firstDay = dayNumber(monthStartMs(month));
  let [nextDay, records] = [firstDay, 0];
  const days: number[] = [];
  for (const row of rows) {
    if (row.day !== dayText(nextDay)) break;
    nextDay += 1;
    records += row.records;
    days.push(row.records);
  }
  // A call that began before midnight can be counted in the month that began while it waited.
  return { records, days, nextDay, before: new Date(nextDay === firstDay ? 0 : dayStartMs(nextDay)) };
}

const idOf = ({ organisationId, bucket }: Omit<UsageCounter, 'month'>, day: string): string =>
  `${organisationId}:${bucket}:${day}`;
