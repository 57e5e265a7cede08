import { type Collection, type Db, MongoBulkWriteError, MongoServerError } from 'mongodb';
import { type Clock, machineClock } from '../clock.js';
import type { CounterSnapshot, LedgerView } from '../quota/ledger-view.js';
import type { UsageBucket, UsageCounter } from '../redis-keys.js';
import { callsCollection } from './calls-collection.js';
import type { WriteOptions } from './connect.js';
import { inTime } from './in-time.js';
import { furtherSlicesOf, sliceColumns } from './prediction-slice.js';
import { UsageSums } from './usage-sums.js';

/**
 * One call that was answered with 200: a document of `calls`, which holds its first predictions too (see
 * call-documents.ts). Append only; the truth of metering.
 */
export interface LedgerRow {
  /** The call id. */
  readonly _id: string;
  /** What the caller's X-Request-Id said, or the call id. */
  readonly request_id: string;
  readonly org: string;
  readonly key: string;
  readonly bucket: UsageBucket;
  /** `YYYY-MM`, UTC. */
  readonly month: string;
  readonly records: number;
  readonly model: string;
  readonly version: string;
  readonly at: Date;
  /** Only on a row that was taken back, or that keeps one from being written; it has no other members then. */
  readonly voided_at?: Date;
}

/** All that a row and its predictions consist of. */
const everything = {
  request_id: 1,
  org: 1,
  key: 1,
  bucket: 1,
  month: 1,
  records: 1,
  model: 1,
  version: 1,
  at: 1,
  ...sliceColumns,
} as const;
const readTimeoutMs = 10_000;
/** A month's calls are read at half a million to a million a second. */
const snapshotTimeoutMs = 30_000;
const duplicateKey = 11_000;
/** MaxTimeMSExpired. */
const timeIsOver = 50;
const longestFenceMs = 300;

/** The ledger of counted calls. */
export class UsageLedger implements LedgerView {
  private readonly collection: Collection<LedgerRow>;
  private readonly sums: UsageSums;

  constructor(
    database: Db,
    private readonly clock: Clock = machineClock(),
  ) {
    this.collection = database.collection<LedgerRow>(callsCollection);
    this.sums = new UsageSums(database);
  }

  async prepare(): Promise<void> {
    // Sums and snapshots are read from the index alone. What has no bucket is no row, but further predictions of a call.
    await this.collection.createIndex(
      { org: 1, bucket: 1, month: 1, at: 1, records: 1, _id: 1 },
      { partialFilterExpression: { bucket: { $exists: true } } },
    );
    await this.collection.createIndex(
      { voided_at: 1 },
      { expireAfterSeconds: 60 * 60, partialFilterExpression: { voided_at: { $exists: true } } },
    );
  }

  /**
   * Makes sure that a call is not counted, now or later: its row becomes void and its predictions go or, where there is
   * none, a void one takes its place, so that a commit of the call that is still under way must fail. Void rows go away
   * after an hour.
   */
  async voidCall(callId: string, options: WriteOptions): Promise<void> {
    const row = await this.collection.findOneAndUpdate(
      { _id: callId },
      { $set: { voided_at: new Date() }, $unset: everything },
      {
        ...options,
        upsert: true,
        returnDocument: 'before',
        projection: { org: 1, bucket: 1, month: 1, at: 1 },
      },
    );
    // Of a row that was void already, only the id is there.
    if (row?.at !== undefined) {
      const counter = { organisationId: row.org, bucket: row.bucket, month: row.month };
      await this.sums.noteVoid(counter, { atMs: row.at.getTime(), nowMs: this.clock.now() }, options);
    }
    await this.collection.deleteMany({ _id: furtherSlicesOf(callId) }, options);
  }

  /** Records that a counter's calls add up to, by the index alone. */
  async sum({ organisationId, bucket, month }: UsageCounter): Promise<number> {
    const [total] = await this.collection
      .aggregate<{ records: number }>(
        [
          { $match: { org: organisationId, bucket, month } },
          { $group: { _id: null, records: { $sum: '$records' } } },
        ],
        { readConcern: 'majority' },
      )
      .toArray();
    return total?.records ?? 0;
  }

  /** Adds the older calls of a counter to what is known of their sum, so that `snapshot` need not read them. */
  async advanceSum(counter: UsageCounter): Promise<void> {
    await this.sums.advance(counter, { nowMs: this.clock.now() });
  }

  /**
   * The sum and, from the same read, the calls of the last `recentMs` before `nowMs`.
   * One aggregation, so that no call can be in one part and not in the other; but for those in the sum of older ones.
   */
  async snapshot(
    counter: UsageCounter,
    { recentMs, nowMs }: { readonly recentMs: number; readonly nowMs: number },
  ): Promise<CounterSnapshot> {
    const { organisationId, bucket, month } = counter;
    const recent = { $gte: ['$at', new Date(nowMs - recentMs)] };
    const older = await inTime(readTimeoutMs, (signal) => this.sums.read(counter, signal));
    // Each recent call is a document of its own: together, those of a busy organisation are more than one can hold.
    const sums = await inTime(snapshotTimeoutMs, (signal) =>
      this.collection
        .aggregate<{ readonly _id: string | null; readonly records: number }>(
          [
            { $match: { org: organisationId, bucket, month, at: { $gte: older.before } } },
            { $group: { _id: { $cond: [recent, '$_id', null] }, records: { $sum: '$records' } } },
          ],
          { readConcern: 'majority', signal },
        )
        .toArray(),
    );
    return {
      records: sums.reduce((total, { records }) => total + records, older.records),
      recent: sums.flatMap(({ _id, records }) => (_id === null ? [] : { callId: _id, records })),
    };
  }

  /** Which of these calls have a row that is not void, by what a majority has. */
  async recordedCalls(callIds: readonly string[]): Promise<Set<string>> {
    const rows = await inTime(readTimeoutMs, (signal) =>
      this.collection
        .find(
          { _id: { $in: [...callIds] }, voided_at: { $exists: false } },
          { projection: { _id: 1 }, readConcern: 'majority', signal },
        )
        .toArray(),
    );
    return new Set(rows.map((row) => row._id));
  }

  /** The models that some calls scored with. */
  async modelsOf(callIds: readonly string[]): Promise<string[]> {
    const rows = await inTime(readTimeoutMs, (signal) =>
      this.collection
        .find(
          { _id: { $in: [...callIds] }, voided_at: { $exists: false } },
          { projection: { _id: 0, model: 1 }, signal },
        )
        .toArray(),
    );
    return [...new Set(rows.map((row) => row.model))];
  }

  /**
   * Puts a void row in the place of each call that has none. A transaction that is about to write the same row is waited
   * for, but not for long: MongoDB keeps that of a gateway that died open for a minute.
   */
  async fenceCalls(callIds: readonly string[]): Promise<Set<string>> {
    const rows = callIds.map((callId) => ({ _id: callId, voided_at: new Date() }) as LedgerRow);
    const options = { ordered: false, writeConcern: { w: 'majority' }, maxTimeMS: longestFenceMs } as const;
    await inTime(readTimeoutMs, () => this.collection.insertMany(rows, options)).catch((error: unknown) => {
      if (!isExpected(error)) throw error;
    });
    return await this.recordedCalls(callIds);
  }
}

/** There are rows in the place already, or there is a transaction that may write one. */
function isExpected(error: unknown): boolean {
  if (!(error instanceof MongoServerError)) return false;
  if (error.code === timeIsOver) return true;
  if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError() !== undefined)
    return false;
  return error.result.getWriteErrors().every(({ code }) => code === duplicateKey || code === timeIsOver);
}
