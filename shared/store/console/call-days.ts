import type { AnyBulkWriteOperation, ClientSession, Collection, Db, Document } from 'mongodb';
import { dayMs, dayNumber, dayText } from '../../contract/dates.js';
import type { UsageBucket } from '../../redis/keys.js';
import { refusedWrites, withMongoTimeout } from '../connection/connect.js';
import { inSession } from '../connection/transaction.js';

/** Each bucket of latencies ends a quarter (26 %) above the one before; the last one begins at 6.3 seconds. */
const latencyBuckets = 40;
const bucketsPerTenfold = 10;

/** The calls of one key, model and UTC day. */
export interface CallDay {
  /** `<organisation>:<key>:<model>:<YYYY-MM-DD>` */
  readonly _id: string;
  readonly org: string;
  readonly key: string;
  readonly bucket: UsageBucket;
  /** Empty for calls that scored nothing, and for those that were refused: they may name anything. */
  readonly model: string;
  /** The beginning of the day. */
  readonly day: Date;
  readonly calls: number;
  /** Records of calls that were answered with 200, and of slices of bulk jobs. */
  readonly records: number;
  /** Refused calls by error code. */
  readonly errors?: Readonly<Record<string, number>>;
  /** Calls by latency; see `latencyBucket`. */
  readonly latency?: Readonly<Record<string, number>>;
  readonly last_at: Date;
}

/** Counts of some calls, summed. */
export interface CallCounts {
  readonly calls: number;
  readonly records: number;
  readonly errors: Readonly<Record<string, number>>;
  /** By bucket of `latencyBucket`. */
  readonly latency: Readonly<Record<string, number>>;
}

/** The bucket of a latency: bucket n ends at 10^(n/10) ms. */
export const latencyBucket = (ms: number): number =>
  Math.min(latencyBuckets - 1, Math.max(0, Math.ceil(bucketsPerTenfold * Math.log10(Math.max(1, ms)))));

/** The calls and records of one bucket and UTC day. */
export interface BucketDay {
  readonly bucket: UsageBucket;
  /** Number of the day. */
  readonly day: number;
  /** Refused ones among them. */
  readonly calls: number;
  readonly refused: number;
  /** Calls that scored records: the ledger has these, and slices of bulk jobs, which are no calls. */
  readonly scored: number;
  readonly records: number;
}

/** All counts of one bucket and UTC day. */
export type DayCounts = BucketDay & CallCounts;

/** The days of an organisation that begin at `from` or later, and before `before`. */
export interface DayRange {
  readonly organisationId: string;
  readonly from: Date;
  readonly before: Date;
}

/** A quantile of latencies in ms, in the middle of its bucket; null without calls. */
export function latencyQuantile(latency: CallCounts['latency'], quantile: number): number | null {
  const counts = Array.from({ length: latencyBuckets }, (_, bucket) => latency[bucket] ?? 0);
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let rank = Math.max(1, Math.ceil(quantile * total));
  const bucket = counts.findIndex((count) => {
    rank -= count;
    return rank <= 0;
  });
  return Math.round(10 ** ((bucket - 0.5) / bucketsPerTenfold) * 10) / 10;
}

/** The beginning of the UTC day of an instant. */
export const dayOf = (atMs: number): Date => new Date(Math.floor(atMs / dayMs) * dayMs);

const timeoutMs = 10_000;
/** So many documents are decoded and summed within some ms. */
const daysAtOnce = 200;
const rememberedSeconds = 400 * 24 * 60 * 60;

/** The shard key. */
export const callDayIndex = { org: 1, day: 1 } as const;

/**
 * Calls by organisation, key, model and UTC day. Gateways and runners add to it once a minute. It is not the truth of
 * metering.
 */
export class CallDayStore {
  private readonly collection: Collection<CallDay>;

  constructor(database: Db) {
    this.collection = database.collection<CallDay>('call_days');
  }

  async prepare(): Promise<void> {
    await this.collection.createIndex(callDayIndex);
    await this.collection.createIndex({ org: 1, key: 1, day: -1, last_at: -1 });
    await this.collection.createIndex({ day: 1 }, { expireAfterSeconds: rememberedSeconds });
  }

  /**
   * Adds calls to what is stored. Several gateways may add to one day at once.
   * @returns the calls that MongoDB refused, without a session
   * @throws the driver's error, or MongoTimeout, when it is not known what was stored
   */
  async add<Day extends Omit<CallDay, '_id'>>(days: readonly Day[], session?: ClientSession): Promise<readonly Day[]> {
    const refused = await this.write(days, session);
    // MongoDB refuses one of two gateways that begin a day at once. It repeats by itself only upserts by the id alone.
    return await this.write(refused, session);
  }

  private async write<Day extends Omit<CallDay, '_id'>>(
    days: readonly Day[],
    session?: ClientSession,
  ): Promise<readonly Day[]> {
    if (days.length === 0) return [];
    const writes = days.map((each): AnyBulkWriteOperation<CallDay> => {
      const { org, key, bucket, model, day, calls, records, errors = {}, latency = {}, last_at } = each;
      const added = { calls, records, ...prefixed('errors', errors), ...prefixed('latency', latency) };
      const update = { $setOnInsert: { key, bucket, model }, $inc: added, $max: { last_at } } as Document;
      // With the shard key, which an upsert stores.
      const filter = { _id: `${org}:${key}:${model}:${dayText(dayNumber(day.getTime()))}`, org, day };
      return { updateOne: { filter, update, upsert: true, hint: { _id: 1 } } };
    });
    const options = { ordered: false, ...inSession(session) };
    const written = withMongoTimeout(timeoutMs, () => this.collection.bulkWrite(writes, options));
    if (session !== undefined) return await written.then(() => []);
    const refused = await written.then(() => undefined, refusedWrites);
    return days.filter((_, index) => refused?.has(index));
  }

  /** The calls, refused and scored calls, and records of some days, by day and bucket, in any order. */
  async byDay(range: DayRange): Promise<BucketDay[]> {
    const by = { day: '$day', bucket: '$bucket' };
    const refused = { $map: { input: { $objectToArray: { $ifNull: ['$errors', {}] } }, in: '$$this.v' } };
    const sums = {
      ...{ calls: { $sum: '$calls' }, records: { $sum: '$records' }, refused: { $sum: { $sum: refused } } },
      scored: { $sum: { $cond: [{ $eq: ['$model', ''] }, 0, '$calls'] } },
    };
    const found = await this.sum<Pick<CallDay, 'bucket' | 'day'>, Omit<BucketDay, 'bucket' | 'day'>>(range, {
      by,
      sums,
    });
    return found.map(({ _id: { bucket, day }, ...counts }) => ({ bucket, day: dayNumber(day.getTime()), ...counts }));
  }

  /**
   * All counts of a bucket on some days, by day, earliest first. MongoDB takes longer to sum each error code and bucket
   * of latencies. Some documents are decoded at a time, so the event loop goes on.
   */
  async countsByDay({ organisationId: org, from, before }: DayRange, bucket: UsageBucket): Promise<DayCounts[]> {
    const projection = { _id: 0, day: 1, model: 1, calls: 1, records: 1, errors: 1, latency: 1 };
    const sums = new Map<number, ReturnType<typeof noCounts> & { scored: number }>();
    await withMongoTimeout(timeoutMs, async (signal) => {
      const options = { projection, signal, hint: callDayIndex, sort: { day: 1 }, batchSize: daysAtOnce } as const;
      const days = this.collection.find({ org, day: { $gte: from, $lt: before }, bucket }, options);
      for await (const counts of days) {
        const day = dayNumber(counts.day.getTime());
        const sum = sums.get(day) ?? { ...noCounts(), scored: 0 };
        addCounts(sum, counts);
        if (counts.model !== '') sum.scored += counts.calls;
        sums.set(day, sum);
      }
    });
    return [...sums].map(([day, counts]) => ({ bucket, day, refused: refusedOf(counts.errors), ...counts }));
  }

  /** The records of live calls on some days, by model: of one model, or of all. */
  async recordsByModel(range: DayRange, model?: string): Promise<ReadonlyMap<string, number>> {
    const where = { bucket: 'live', ...(model === undefined ? {} : { model }) };
    const found = await this.sum<string>(range, { where, by: '$model', sums: { total: { $sum: '$records' } } });
    return new Map(found.map(({ _id, total }) => [_id, total]));
  }

  /** The calls on some days, by key. */
  async callsByKey(range: DayRange): Promise<ReadonlyMap<string, number>> {
    const found = await this.sum<string>(range, { by: '$key', sums: { total: { $sum: '$calls' } } });
    return new Map(found.map(({ _id, total }) => [_id, total]));
  }

  /** MongoDB sums the days of all keys and models. */
  private sum<Id, Sums = { readonly total: number }>(
    { organisationId: org, from, before }: DayRange,
    { where = {}, by, sums }: { readonly where?: Document; readonly by: unknown; readonly sums: Document },
  ): Promise<({ readonly _id: Id } & Sums)[]> {
    const stages = [{ $match: { org, day: { $gte: from, $lt: before }, ...where } }, { $group: { _id: by, ...sums } }];
    return withMongoTimeout(timeoutMs, (signal) => {
      // The cursor obeys `signal`, although the type of the options lacks it.
      const options = { signal, hint: callDayIndex };
      return this.collection.aggregate<{ readonly _id: Id } & Sums>(stages, options).toArray();
    });
  }

  /**
   * The last use of each key of an organisation, by id. Keys without one are absent. MongoDB skips through the index
   * from key to key, however many days each has.
   */
  async lastUses(organisationId: string): Promise<ReadonlyMap<string, Date>> {
    const stages = [
      { $match: { org: organisationId } },
      { $sort: { org: 1, key: 1, day: -1, last_at: -1 } },
      { $group: { _id: '$key', last: { $first: '$last_at' } } },
    ];
    // The cursor obeys `signal`, although the type of the options lacks it.
    const found = await withMongoTimeout(timeoutMs, (signal) =>
      this.collection.aggregate<{ readonly _id: string; readonly last: Date }>(stages, { signal } as object).toArray(),
    );
    return new Map(found.map(({ _id: key, last }) => [key, last]));
  }

  /** The last use of a key, on the last day that has any. */
  async lastUse(organisationId: string, keyId: string): Promise<Date | undefined> {
    const found = await withMongoTimeout(timeoutMs, (signal) =>
      this.collection.findOne(
        { org: organisationId, key: keyId },
        { signal, projection: { _id: 0, last_at: 1 }, sort: { day: -1, last_at: -1 } },
      ),
    );
    return found?.last_at;
  }
}

const prefixed = (name: string, counts: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).map(([key, count]) => [`${name}.${key}`, count]));

type StoredCounts = Pick<CallDay, 'calls' | 'records' | 'errors' | 'latency'>;

export const refusedOf = (errors: CallCounts['errors']): number =>
  Object.values(errors).reduce((sum, count) => sum + count, 0);

/** The sum of some counts. */
export function sumOf(some: Iterable<StoredCounts>): CallCounts {
  const sum = noCounts();
  for (const counts of some) addCounts(sum, counts);
  return sum;
}

const noCounts = () => ({
  ...{ calls: 0, records: 0 },
  ...{ errors: {} as Record<string, number>, latency: {} as Record<string, number> },
});

function addCounts(
  sum: ReturnType<typeof noCounts>,
  { calls, records, errors = {}, latency = {} }: StoredCounts,
): void {
  sum.calls += calls;
  sum.records += records;
  for (const [code, count] of Object.entries(errors)) sum.errors[code] = (sum.errors[code] ?? 0) + count;
  for (const [bucket, count] of Object.entries(latency)) sum.latency[bucket] = (sum.latency[bucket] ?? 0) + count;
}
