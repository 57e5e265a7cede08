import type { AnyBulkWriteOperation, Collection, Db, Document } from 'mongodb';
import { dayMs } from '../../contract/dates.js';
import { errorTable } from '../../contract/errors.js';
import type { UsageBucket } from '../../redis/keys.js';
import { withMongoTimeout } from '../connection/connect.js';

const hourMs = 60 * 60 * 1000;
/** Each bucket of latencies ends a quarter (26 %) above the one before; the last one begins at 6.3 seconds. */
const latencyBuckets = 40;
const bucketsPerTenfold = 10;

/** The calls of one key, model and hour. */
export interface CallHour {
  /** `<organisation>:<key>:<model>:<hour number>` */
  readonly _id: string;
  readonly org: string;
  readonly key: string;
  readonly bucket: UsageBucket;
  /** Empty for calls that were refused: they may name anything. */
  readonly model: string;
  /** The beginning of the hour. */
  readonly hour: Date;
  readonly calls: number;
  /** Records of calls that were answered with 200. */
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
export interface DayCalls {
  readonly bucket: UsageBucket;
  /** Number of the day. */
  readonly day: number;
  readonly calls: number;
  readonly records: number;
}

/** All counts of one bucket and UTC day. */
export type DayCounts = DayCalls & CallCounts;

/** The hours of an organisation that begin at `from` or later, and before `before`. */
export interface HourRange {
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

export const hourOf = (atMs: number): Date => new Date(Math.floor(atMs / hourMs) * hourMs);

const timeoutMs = 10_000;
const rememberedSeconds = 400 * 24 * 60 * 60;

/** The shard key. */
export const callHourIndex = { org: 1, hour: 1 } as const;

/** Calls by organisation, key, model and hour. Gateways add to it once a minute. It is not the truth of metering. */
export class CallHourStore {
  private readonly collection: Collection<CallHour>;

  constructor(database: Db) {
    this.collection = database.collection<CallHour>('call_hours');
  }

  async prepare(): Promise<void> {
    await this.collection.createIndex(callHourIndex);
    await this.collection.createIndex({ org: 1, key: 1, hour: -1, last_at: -1 });
    await this.collection.createIndex({ hour: 1 }, { expireAfterSeconds: rememberedSeconds });
  }

  /** Adds calls to what is stored. An hour may be added several times, by several gateways. */
  async add(hours: readonly Omit<CallHour, '_id'>[]): Promise<void> {
    if (hours.length === 0) return;
    const writes = hours.map((each): AnyBulkWriteOperation<CallHour> => {
      const { org, key, bucket, model, hour, calls, records, errors = {}, latency = {}, last_at } = each;
      const added = { calls, records, ...prefixed('errors', errors), ...prefixed('latency', latency) };
      const update = { $setOnInsert: { key, bucket, model }, $inc: added, $max: { last_at } } as Document;
      // With the shard key, which an upsert stores.
      const filter = { _id: `${org}:${key}:${model}:${hour.getTime() / hourMs}`, org, hour };
      return { updateOne: { filter, update, upsert: true, hint: { _id: 1 } } };
    });
    await withMongoTimeout(timeoutMs, () => this.collection.bulkWrite(writes, { ordered: false }));
  }

  /** The calls and records of some hours, by day and bucket, in any order. */
  async byDay(range: HourRange): Promise<DayCalls[]> {
    const by = { day: dayOf('$hour'), bucket: '$bucket' };
    const sums = { calls: { $sum: '$calls' }, records: { $sum: '$records' } };
    const found = await this.sum<Pick<DayCalls, 'bucket' | 'day'>, DayCalls>(range, { by, sums });
    return found.map(({ _id: { bucket, day }, calls, records }) => ({ bucket, day, calls, records }));
  }

  /** All counts of a bucket in some hours, by day, earliest first. */
  async countsByDay(range: HourRange, bucket: UsageBucket): Promise<DayCounts[]> {
    const sums = {
      ...{ calls: { $sum: '$calls' }, records: { $sum: '$records' } },
      ...sumOfEach('errors', errorCodes),
      ...sumOfEach('latency', [...Array(latencyBuckets).keys()]),
    };
    const found = await this.sum<number, Counters>(range, { where: { bucket }, by: dayOf('$hour'), sums });
    const days = found.map(({ _id: day, calls = 0, records = 0, ...counters }) => ({
      ...{ bucket, day, calls, records },
      ...{ errors: countersOf('errors', counters), latency: countersOf('latency', counters) },
    }));
    return days.sort((one, other) => one.day - other.day);
  }

  /** The records of live calls in some hours, by model: of one model, or of all. */
  async recordsByModel(range: HourRange, model?: string): Promise<ReadonlyMap<string, number>> {
    const where = { bucket: 'live', ...(model === undefined ? {} : { model }) };
    const found = await this.sum<string>(range, { where, by: '$model', sums: { total: { $sum: '$records' } } });
    return new Map(found.map(({ _id, total }) => [_id, total]));
  }

  /** The calls in some hours, by key. */
  async callsByKey(range: HourRange): Promise<ReadonlyMap<string, number>> {
    const found = await this.sum<string>(range, { by: '$key', sums: { total: { $sum: '$calls' } } });
    return new Map(found.map(({ _id, total }) => [_id, total]));
  }

  /** MongoDB sums the hours: a busy month has thousands, which would hold up the event loop for 0.1 s and more. */
  private sum<Id, Sums = { readonly total: number }>(
    { organisationId: org, from, before }: HourRange,
    { where = {}, by, sums }: { readonly where?: Document; readonly by: unknown; readonly sums: Document },
  ): Promise<({ readonly _id: Id } & Sums)[]> {
    const stages = [{ $match: { org, hour: { $gte: from, $lt: before }, ...where } }, { $group: { _id: by, ...sums } }];
    return withMongoTimeout(timeoutMs, (signal) => {
      // The cursor obeys `signal`, although the type of the options lacks it.
      const options = { signal, hint: callHourIndex };
      return this.collection.aggregate<{ readonly _id: Id } & Sums>(stages, options).toArray();
    });
  }

  /** The last use of a key, in the last hour that has any. */
  async lastUse(organisationId: string, keyId: string): Promise<Date | undefined> {
    const found = await withMongoTimeout(timeoutMs, (signal) =>
      this.collection.findOne(
        { org: organisationId, key: keyId },
        { signal, projection: { _id: 0, last_at: 1 }, sort: { hour: -1, last_at: -1 } },
      ),
    );
    return found?.last_at;
  }
}

const prefixed = (name: string, counts: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).map(([key, count]) => [`${name}.${key}`, count]));

/** An expression for the number of the UTC day of an instant. `$dateTrunc` takes MongoDB longer. */
export const dayOf = (instant: string): Document => ({ $floor: { $divide: [{ $toLong: instant }, dayMs] } });

const errorCodes: ReadonlySet<string> = new Set(Object.values(errorTable).map(({ code }) => code));

/** Sums by `<name>/<key>`: a name of `$group` contains no full stop. */
type Counters = Readonly<Record<string, number>>;

const sumOfEach = (name: string, keys: Iterable<string | number>): Document =>
  Object.fromEntries([...keys].map((key) => [`${name}/${key}`, { $sum: `$${name}.${key}` }]));

/** The sums of one name that are not zero, by key. */
const countersOf = (name: string, counters: Counters): Record<string, number> =>
  Object.fromEntries(
    Object.entries(counters)
      .filter(([path, count]) => path.startsWith(`${name}/`) && count > 0)
      .map(([path, count]) => [path.slice(name.length + 1), count]),
  );

/** The sum of some counts. */
export function sumOf(hours: readonly Pick<CallHour, 'calls' | 'records' | 'errors' | 'latency'>[]): CallCounts {
  const sum = { calls: 0, records: 0, errors: {} as Record<string, number>, latency: {} as Record<string, number> };
  for (const { calls, records, errors = {}, latency = {} } of hours) {
    sum.calls += calls;
    sum.records += records;
    for (const [code, count] of Object.entries(errors)) sum.errors[code] = (sum.errors[code] ?? 0) + count;
    for (const [bucket, count] of Object.entries(latency)) sum.latency[bucket] = (sum.latency[bucket] ?? 0) + count;
  }
  return sum;
}
