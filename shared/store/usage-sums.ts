import { type Collection, type Db, MongoServerError } from 'mongodb';
import { monthStartMs } from '../clock.js';
import type { UsageBucket, UsageCounter } from '../redis-keys.js';
import { dayMs } from '../utc-day.js';
import { callsCollection } from './calls-collection.js';
import type { WriteOptions } from './connect.js';
import { inTime } from './in-time.js';

/** What a sum needs of a row of the ledger. */
interface CountedCall {
  readonly org: string;
  readonly bucket: UsageBucket;
  readonly month: string;
  readonly at: Date;
  readonly records: number;
}

/** What the older calls of a counter add up to, so that they need not be read again. */
interface UsageSum {
  /** `<organisation> <bucket> <month>`. */
  readonly _id: string;
  readonly records: number;
  /** The calls dated before this are in the sum. */
  readonly before: Date;
  /** Counts the late ends of calls: a sum that was read while one came is thrown away. */
  readonly voids: number;
}

export interface AdvanceOptions {
  readonly nowMs: number;
  /** Fewer calls than this are not worth a sum: they are read in milliseconds. */
  readonly leastCalls?: number;
}

/**
 * Calls dated so long ago have been recorded, or never will be. An hour would do, were it not for the clocks of machines that
 * have slept.
 */
const settledAfterMs = 26 * 60 * 60 * 1000;
/** Calls of no more than this age are in no sum, and in none that is being made. */
const youngMs = settledAfterMs / 2;
/** Half a million to a million calls are read in a second. */
const readTimeoutMs = 30_000;
const worthASum = 10_000;
const never = new Date(0);
const duplicateKey = 11_000;

/**
 * Running sums of the ledger, one for each counter that has many calls. To be exact, a sum holds only calls that nothing
 * changes any more; should one be taken back so late, the sum begins anew.
 */
export class UsageSums {
  private readonly sums: Collection<UsageSum>;
  private readonly calls: Collection<CountedCall>;

  constructor(database: Db) {
    this.sums = database.collection<UsageSum>('usage_sums');
    this.calls = database.collection<CountedCall>(callsCollection);
  }

  /** What a counter's calls before an instant add up to; before any, where there is no sum. */
  async read(counter: UsageCounter, signal: AbortSignal): Promise<Pick<UsageSum, 'records' | 'before'>> {
    const known = await this.find(counter, signal);
    return known ?? { records: 0, before: never };
  }

  /**
   * Adds to a counter's sum the calls that have become old enough since, a day at a time; nothing where they are few.
   * @throws what MongoDB fails with; what was added until then stays
   */
  async advance(counter: UsageCounter, { nowMs, leastCalls = worthASum }: AdvanceOptions): Promise<void> {
    const endMs = nowMs - settledAfterMs;
    const known = await inTime(readTimeoutMs, (signal) => this.find(counter, signal));
    let sum: UsageSum = known ?? { _id: idOf(counter), records: 0, before: never, voids: 0 };
    if (!(await this.hasCalls(counter, { fromMs: sum.before.getTime(), toMs: endMs, atLeast: leastCalls })))
      return;
    while (sum.before.getTime() < endMs) {
      const fromMs = sum.before.getTime();
      const toMs = Math.min(Math.max(fromMs, monthStartMs(counter.month)) + dayMs, endMs);
      const added = await this.sumBetween(counter, fromMs, toMs);
      const next = { ...sum, records: sum.records + added, before: new Date(toMs) };
      if (!(await this.replace(sum, next))) return;
      sum = next;
    }
  }

  /**
   * Takes note that a call is being taken back, in the transaction that does so: a sum that has it begins anew, and one that
   * is being made is thrown away. Nothing where the call is too young for any sum.
   */
  async noteVoid(
    counter: UsageCounter,
    { atMs, nowMs }: { readonly atMs: number; readonly nowMs: number },
    options: WriteOptions,
  ): Promise<void> {
    if (nowMs - atMs < youngMs) return;
    const isInSum = { $gt: ['$before', new Date(atMs)] };
    const change = {
      voids: { $add: [{ $ifNull: ['$voids', 0] }, 1] },
      records: { $cond: [isInSum, 0, { $ifNull: ['$records', 0] }] },
      before: { $cond: [isInSum, never, { $ifNull: ['$before', never] }] },
    };
    await this.sums.updateOne({ _id: idOf(counter) }, [{ $set: change }], { ...options, upsert: true });
  }

  private async find(counter: UsageCounter, signal: AbortSignal): Promise<UsageSum | undefined> {
    const options = { readConcern: 'majority', signal } as const;
    return (await this.sums.findOne({ _id: idOf(counter) }, options)) ?? undefined;
  }

  private async hasCalls(
    counter: UsageCounter,
    { fromMs, toMs, atLeast }: { readonly fromMs: number; readonly toMs: number; readonly atLeast: number },
  ): Promise<boolean> {
    const count = await inTime(readTimeoutMs, (signal) =>
      this.calls.countDocuments(callsBetween(counter, fromMs, toMs), { limit: atLeast, signal }),
    );
    return count >= atLeast;
  }

  private async sumBetween(counter: UsageCounter, fromMs: number, toMs: number): Promise<number> {
    const [total] = await inTime(readTimeoutMs, (signal) =>
      this.calls
        .aggregate<{ readonly records: number }>(
          [
            { $match: callsBetween(counter, fromMs, toMs) },
            { $group: { _id: null, records: { $sum: '$records' } } },
          ],
          { readConcern: 'majority', signal },
        )
        .toArray(),
    );
    return total?.records ?? 0;
  }

  /** Puts a sum in the place of another; false where that has changed since it was read. */
  private async replace(before: UsageSum, after: UsageSum): Promise<boolean> {
    const options = { upsert: before.before === never, writeConcern: { w: 'majority' } } as const;
    try {
      const { modifiedCount, upsertedCount } = await this.sums.replaceOne({ ...before }, after, options);
      return modifiedCount + upsertedCount > 0;
    } catch (error) {
      if (error instanceof MongoServerError && error.code === duplicateKey) return false;
      throw error;
    }
  }
}

const idOf = ({ organisationId, bucket, month }: UsageCounter): string =>
  `${organisationId} ${bucket} ${month}`;

const callsBetween = ({ organisationId, bucket, month }: UsageCounter, fromMs: number, toMs: number) => ({
  ...{ org: organisationId, bucket, month },
  at: { $gte: new Date(fromMs), $lt: new Date(toMs) },
});
