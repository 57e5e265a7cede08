import { type Collection, type Db, MongoBulkWriteError, MongoServerError } from 'mongodb';
import { type Clock, machineClock } from '../../contract/dates.js';
import { prefixOfCallId } from '../../contract/identifiers.js';
import type { CounterSnapshot, LedgerView } from '../../quota/ledger-view.js';
import type { UsageBucket, UsageCounter } from '../../redis/keys.js';
import { amongIds, duplicateKey, maxTimeExpired, type WriteOptions, withMongoTimeout } from '../connection/connect.js';
import { callsCollection, furtherSegmentsOf, idsOfOrganisation, segmentColumns } from './prediction-segment.js';
import { ledgerIndex, maxVoidAgeMs, UsageRollups } from './usage-rollups.js';

/**
 * The ledger row of one call that was answered with 200: the source of truth of metering. Append only. Its document in
 * `calls` also holds the first predictions of the call (see call-documents.ts).
 */
export interface LedgerRow {
  /** The call id. */
  readonly _id: string;
  /** The caller's X-Request-Id, or the call id. */
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
  /** See `PredictionSegment`. */
  readonly source?: 'stored';
  /** Only on a void row, which has no other members but `_id`. */
  readonly voided_at?: Date;
}

/** All members of a row and its predictions, in the form of `$unset`. */
const allMembers = {
  request_id: 1,
  org: 1,
  key: 1,
  bucket: 1,
  month: 1,
  records: 1,
  model: 1,
  version: 1,
  at: 1,
  source: 1,
  ...segmentColumns,
} as const;
const readTimeoutMs = 10_000;
const snapshotTimeoutMs = 30_000; // MongoDB reads 0.5 to 1 million calls of a month a second
const maxFenceMs = 300;

/** The call is too old to be voided, because a roll-up may soon hold it. It stays counted. */
export class CallIsFinal extends Error {
  override name = 'CallIsFinal';
}

export class UsageLedger implements LedgerView {
  private readonly collection: Collection<LedgerRow>;
  private readonly rollups: UsageRollups;

  constructor(
    database: Db,
    private readonly clock: Clock = machineClock(),
  ) {
    this.collection = database.collection<LedgerRow>(callsCollection);
    this.rollups = new UsageRollups(database);
  }

  async prepare(): Promise<void> {
    await this.collection.createIndex(ledgerIndex, {
      partialFilterExpression: { bucket: { $exists: true } },
    });
    await this.collection.createIndex(
      { voided_at: 1 },
      { expireAfterSeconds: 60 * 60, partialFilterExpression: { voided_at: { $exists: true } } },
    );
  }

  /**
   * Voids a call, so that it is not counted now or later. An existing row becomes void and loses its predictions.
   * Without a row, a void one is inserted as a fence, so that a commit of the call still in flight fails. Void rows
   * expire after an hour.
   * @param options its transaction must be aborted if this throws
   * @throws CallIsFinal when the call is older than 13 h
   */
  async voidCall(callId: string, options: WriteOptions): Promise<void> {
    const row = await this.collection.findOneAndUpdate(
      { _id: callId },
      { $set: { voided_at: new Date() }, $unset: allMembers },
      { ...options, upsert: true, returnDocument: 'before', projection: { at: 1 } },
    );
    // A row that was void already has only its id.
    if (row?.at !== undefined && this.clock.now() - row.at.getTime() > maxVoidAgeMs)
      throw new CallIsFinal(`call ${callId} is older than 13 h`);
    await this.collection.deleteMany({ _id: furtherSegmentsOf(callId) }, options);
  }

  /** The sum of a counter's records, from a covered query. */
  async sum({ organisationId, bucket, month }: UsageCounter): Promise<number> {
    const [total] = await this.collection
      .aggregate<{ records: number }>(
        [
          { $match: { _id: idsOfOrganisation(organisationId), org: organisationId, bucket, month } },
          { $group: { _id: null, records: { $sum: '$records' } } },
        ],
        { readConcern: 'majority', hint: ledgerIndex },
      )
      .toArray();
    return total?.records ?? 0;
  }

  /** Rolls up the older days of a counter, so that `snapshot` need not read their calls. */
  async advanceRollup(counter: UsageCounter): Promise<void> {
    await this.rollups.advance(counter, this.clock.now());
  }

  /**
   * The sum of a counter and its calls of the last `recentMs` before `nowMs`. Both come from one aggregation, so that
   * they agree about each call that is not rolled up.
   */
  async snapshot(
    counter: UsageCounter,
    { recentMs, nowMs }: { readonly recentMs: number; readonly nowMs: number },
  ): Promise<CounterSnapshot> {
    const { organisationId, bucket, month } = counter;
    const recent = { $gte: ['$at', new Date(nowMs - recentMs)] };
    const rolledUp = await this.rollups.read(counter);
    // One result document a recent call: a single array of them could exceed 16 MiB for a busy organisation.
    const sums = await withMongoTimeout(snapshotTimeoutMs, (signal) =>
      this.collection
        .aggregate<{ readonly _id: string | null; readonly records: number }>(
          [
            {
              $match: {
                ...{ _id: idsOfOrganisation(organisationId), org: organisationId },
                ...{ bucket, month, at: { $gte: rolledUp.before } },
              },
            },
            { $group: { _id: { $cond: [recent, '$_id', null] }, records: { $sum: '$records' } } },
          ],
          { readConcern: 'majority', signal, hint: ledgerIndex },
        )
        .toArray(),
    );
    return {
      records: sums.reduce((total, { records }) => total + records, rolledUp.records),
      recent: sums.flatMap(({ _id, records }) => (_id === null ? [] : { callId: _id, records })),
    };
  }

  /** The calls among these that have a row that is not void, by majority read. */
  async recordedCalls(callIds: readonly string[]): Promise<Set<string>> {
    const options = { projection: { _id: 1 }, readConcern: 'majority' } as const;
    const rows = await withMongoTimeout(readTimeoutMs, (signal) =>
      Promise.all(
        byOrganisation(callIds).map((ids) =>
          this.collection.find({ _id: amongIds(ids), voided_at: { $exists: false } }, { ...options, signal }).toArray(),
        ),
      ),
    );
    return new Set(rows.flat().map((row) => row._id));
  }

  /**
   * Inserts a void row for each call that has none, as a fence. Waits at most 300 ms for a transaction that is about to
   * write the same row. MongoDB keeps the transaction of a dead gateway open for a minute.
   * @returns the calls that have a row that is not void
   */
  async fenceCalls(callIds: readonly string[]): Promise<Set<string>> {
    const rows = callIds.map((callId) => ({ _id: callId, voided_at: new Date() }) as LedgerRow);
    const options = { ordered: false, writeConcern: { w: 'majority' }, maxTimeMS: maxFenceMs } as const;
    await withMongoTimeout(readTimeoutMs, () => this.collection.insertMany(rows, options)).catch((error: unknown) => {
      if (!isExpected(error)) throw error;
    });
    return await this.recordedCalls(callIds);
  }
}

/** The ids of each organisation: between those of two organisations lie all calls of others. */
function byOrganisation(callIds: readonly string[]): string[][] {
  const groups = new Map<string, string[]>();
  for (const id of callIds) {
    const group = groups.get(prefixOfCallId(id));
    if (group === undefined) groups.set(prefixOfCallId(id), [id]);
    else group.push(id);
  }
  return [...groups.values()];
}

/** A row exists already, or an open transaction may write one. */
function isExpected(error: unknown): boolean {
  if (!(error instanceof MongoServerError)) return false;
  if (error.code === maxTimeExpired) return true;
  if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError() !== undefined) return false;
  return error.result.getWriteErrors().every(({ code }) => code === duplicateKey || code === maxTimeExpired);
}
