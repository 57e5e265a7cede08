import { type MongoClient, MongoServerError } from 'mongodb';
import { ApiError } from '../../shared/contract/errors.js';
import { prefixOfCallId } from '../../shared/contract/identifiers.js';
import type { CallDocuments } from '../../shared/store/calls/call-documents.js';
import type { IdempotencyStore } from '../../shared/store/calls/idempotency.js';
import type { UsageLedger } from '../../shared/store/calls/usage-ledger.js';
import { duplicateKey, MongoTimeout } from '../../shared/store/connection/connect.js';
import { CommitUnknown, inTransaction } from '../../shared/store/connection/transaction.js';
import { IdempotencyConflict } from '../admission/idempotency.js';
import { RecordedButUnanswered } from '../admission/metering.js';
import { type CallEntry, documentsOf, entryOf, maxTimeoutMs, type ScoredCall } from './documents.js';
import { CommitTooLate, groupCommit, insertCalls } from './insert-calls.js';

export interface RecorderOptions {
  readonly client: Pick<MongoClient, 'startSession'>;
  readonly calls: Pick<CallDocuments, 'insert' | 'insertEach'>;
  readonly ledger: Pick<UsageLedger, 'recordedCalls'>;
  readonly idempotency: Pick<IdempotencyStore, 'insert'>;
}

/**
 * Records calls: the ledger row with its predictions (live keys only) and, under an Idempotency-Key, the stored reply.
 * A call of one document is one insert; a call of several documents, or with further writes, is one transaction. A
 * committed call is counted.
 */
export class Recorder {
  private readonly insertEntry: (entry: CallEntry) => Promise<void>;
  private readonly transactEntry: (entry: CallEntry) => Promise<void>;

  constructor(private readonly options: RecorderOptions) {
    this.insertEntry = groupCommit((entries) => this.insert(entries));
    // All that one organisation stores lies on one shard, so that its transaction needs no other.
    this.transactEntry = groupCommit((entries) => this.transact(entries), organisationOf);
  }

  /**
   * Records a call.
   * @returns the stored reply, if any
   * @throws RecordedButUnanswered when its commit was not confirmed in time.
   * @throws IdempotencyConflict when another call was recorded under the same Idempotency-Key.
   * @throws ApiError refusedRequest when it is too large, internalError when it was not recorded
   */
  async record(scored: ScoredCall): Promise<string | undefined> {
    const entry = entryOf(scored);
    try {
      const isOneDocument = entry.documents.length === 1 && entry.reply === undefined && entry.beside === undefined;
      await (isOneDocument ? this.insertEntry(entry) : this.transactEntry(entry));
      return entry.reply?.reply;
    } catch (error) {
      if (error instanceof IdempotencyConflict) throw error;
      if (!(error instanceof CommitUnknown)) {
        // Not by the clock: a time limit has whole milliseconds, and ends up to one before the deadline.
        const isLate = error instanceof MongoTimeout || error instanceof CommitTooLate;
        throw new ApiError('internalError', `The scores could not be recorded${isLate ? ' in time' : ''}.`, {
          cause: error,
          retryAfterSeconds: 1,
        });
      }
      throw new RecordedButUnanswered('It could not be confirmed in time that the scores were recorded.', error);
    }
  }

  private insert(entries: readonly CallEntry[]): Promise<readonly (Error | undefined)[]> {
    const { calls, ledger } = this.options;
    const writing = {
      insertEach: calls.insertEach.bind(calls),
      recordedCalls: ledger.recordedCalls.bind(ledger),
    };
    return insertCalls(writing, documentsOf(entries), { timeoutMs: maxTimeoutMs(entries) });
  }

  private async transact(entries: readonly CallEntry[]): Promise<readonly undefined[]> {
    const { client, calls, idempotency } = this.options;
    const replies = entries.flatMap((entry) => entry.reply ?? []);
    await inTransaction(
      client,
      async (options) => {
        await idempotency.insert(replies, options).catch(throwConflict);
        await calls.insert(documentsOf(entries), options);
        for (const { beside } of entries) await beside?.(options);
      },
      { timeoutMs: maxTimeoutMs(entries) },
    );
    return entries.map(() => undefined);
  }
}

const organisationOf = ({ documents: [first] }: CallEntry): string => prefixOfCallId(first?._id ?? '');

/** Another call can only cause a duplicate of the stored reply: documents of calls have ids of their own. */
function throwConflict(error: unknown): never {
  if (!(error instanceof MongoServerError) || error.code !== duplicateKey) throw error;
  throw new IdempotencyConflict('another call was recorded under the Idempotency-Key');
}
