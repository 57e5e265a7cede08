import type { AnyBulkWriteOperation, Collection, Db, Document } from 'mongodb';
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
  readonly bucket: 'live' | 'test';
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

  /** The hours of an organisation from one instant on, before another. */
  between(organisationId: string, from: Date, before: Date): Promise<CallHour[]> {
    return withMongoTimeout(timeoutMs, (signal) =>
      this.collection.find({ org: organisationId, hour: { $gte: from, $lt: before } }, { signal }).toArray(),
    );
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

/** The sum of some hours. */
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
