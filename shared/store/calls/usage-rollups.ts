import { type Collection, type Db, MongoServerError } from 'mongodb';
import { dayMs } from '../../contract/dates.js';
import { monthStartMs } from '../../process/clock.js';
import type { UsageBucket, UsageCounter } from '../../redis/keys.js';
import type { WriteOptions } from '../connection/connect.js';
import { duplicateKey, withMongoTimeout } from '../connection/mongo-errors.js';
import { callsCollection } from './prediction-slice.js';

/** The members of a ledger row that a roll-up reads. */
interface CountedCall {
  readonly org: string;
  readonly bucket: UsageBucket;
  readonly month: string;
  readonly at: Date;
  readonly records: number;
}

/** One document of `usage_sums`: the sum of a counter's older calls, which need not be read again. */
interface UsageRollup {
  /** `<organisation> <bucket> <month>`. */
  readonly _id: string;
  readonly records: number;
  /** The roll-up holds all calls dated before this. */
  readonly before: Date;
  /** Incremented by each late void; an advance that read another value discards its result. */
  readonly voids: number;
}

export interface AdvanceOptions {
  readonly nowMs: number;
  /** Fewer calls make no roll-up: MongoDB reads them in milliseconds. 10,000 by default. */
  readonly minCalls?: number;
}

/**
 * Older calls have been recorded or never will be. An hour would do, but clocks of machines that slept may be
 * behind.
 */
const settledAfterMs = 26 * 60 * 60 * 1000;
/** Younger calls are in no roll-up, not even in one that is being written. */
const youngMs = settledAfterMs / 2;
const readTimeoutMs = 30_000; // MongoDB reads 0.5 to 1 million calls a second
const defaultMinCalls = 10_000;
const never = new Date(0);

/**
 * Roll-ups of the ledger, one for each counter with many calls. To be exact, a roll-up holds only calls that
 * are not expected to change. If one of them is voided after all, the roll-up is reset.
 */
export class UsageRollups {
  private readonly rollups: Collection<UsageRollup>;
  private readonly calls: Collection<CountedCall>;

  constructor(database: Db) {
    this.rollups = database.collection<UsageRollup>('usage_sums');
    this.calls = database.collection<CountedCall>(callsCollection);
  }

  /** The roll-up of a counter; without one, 0 records before 1970. */
  async read(counter: UsageCounter, signal: AbortSignal): Promise<Pick<UsageRollup, 'records' | 'before'>> {
    const known = await this.find(counter, signal);
    return known ?? { records: 0, before: never };
  }

  /**
   * Adds the calls that have become old enough to the roll-up of a counter, one day at a time, unless they
   * are few.
   * @throws the driver's error or MongoTimeout; days added before it stay
   */
  async advance(counter: UsageCounter, { nowMs, minCalls = defaultMinCalls }: AdvanceOptions): Promise<void> {
    const endMs = nowMs - settledAfterMs;
    const known = await withMongoTimeout(readTimeoutMs, (signal) => this.find(counter, signal));
    let rollup: UsageRollup = known ?? { _id: idOf(counter), records: 0, before: never, voids: 0 };
    if (!(await this.hasCalls(counter, { fromMs: rollup.before.getTime(), toMs: endMs, atLeast: minCalls })))
      return;
    while (rollup.before.getTime() < endMs) {
      const fromMs = rollup.before.getTime();
      const toMs = Math.min(Math.max(fromMs, monthStartMs(counter.month)) + dayMs, endMs);
      const added = await this.sumBetween(counter, fromMs, toMs);
      const next = { ...rollup, records: rollup.records + added, before: new Date(toMs) };
      if (!(await this.replace(rollup, next))) return;
      rollup = next;
    }
  }

  /**
   * Registers a void, in its transaction: resets the roll-up that holds the call, and invalidates one that is
   * being written. Does nothing for a call that is too young for any roll-up.
   */
  async noteVoid(
    counter: UsageCounter,
    { atMs, nowMs }: { readonly atMs: number; readonly nowMs: number },
    options: WriteOptions,
  ): Promise<void> {
    if (nowMs - atMs < youngMs) return;
    const isIncluded = { $gt: ['$before', new Date(atMs)] };
    const change = {
      voids: { $add: [{ $ifNull: ['$voids', 0] }, 1] },
      records: { $cond: [isIncluded, 0, { $ifNull: ['$records', 0] }] },
      before: { $cond: [isIncluded, never, { $ifNull: ['$before', never] }] },
    };
    await this.rollups.updateOne({ _id: idOf(counter) }, [{ $set: change }], { ...options, upsert: true });
  }

  private async find(counter: UsageCounter, signal: AbortSignal): Promise<UsageRollup | undefined> {
    const options = { readConcern: 'majority', signal } as const;
    return (await this.rollups.findOne({ _id: idOf(counter) }, options)) ?? undefined;
  }

  private async hasCalls(
    counter: UsageCounter,
    { fromMs, toMs, atLeast }: { readonly fromMs: number; readonly toMs: number; readonly atLeast: number },
  ): Promise<boolean> {
    const count = await withMongoTimeout(readTimeoutMs, (signal) =>
      this.calls.countDocuments(callsBetween(counter, fromMs, toMs), { limit: atLeast, signal }),
    );
    return count >= atLeast;
  }

  private async sumBetween(counter: UsageCounter, fromMs: number, toMs: number): Promise<number> {
    const [total] = await withMongoTimeout(readTimeoutMs, (signal) =>
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

  /** Compare and set; false if the roll-up has changed since it was read. */
  private async replace(before: UsageRollup, after: UsageRollup): Promise<boolean> {
    const options = { upsert: before.before === never, writeConcern: { w: 'majority' } } as const;
    try {
      const { modifiedCount, upsertedCount } = await this.rollups.replaceOne({ ...before }, after, options);
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
