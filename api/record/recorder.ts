import { type MongoClient, MongoServerError } from 'mongodb';
import { ApiError } from '../../shared/contract/errors.js';
import type { CallDocuments } from '../../shared/store/calls/call-documents.js';
import type { IdempotencyStore } from '../../shared/store/calls/idempotency.js';
import type { UsageLedger } from '../../shared/store/calls/usage-ledger.js';
import { IdempotencyConflict } from '../idempotency/idempotency.js';
import { RecordedButUnanswered } from '../metering/metering.js';
import { type CallEntry, documentsOf, entryOf, maxTimeoutMs, type ScoredCall } from './documents.js';
import { groupCommit } from './group-commit.js';
import { insertCalls } from './insert-calls.js';
import { CommitUnknown, inTransaction } from './transaction.js';

export interface RecorderOptions {
  readonly client: MongoClient;
  readonly calls: CallDocuments;
  readonly ledger: UsageLedger;
  readonly idempotency: IdempotencyStore;
}

const duplicateKey = 11_000;
const voidTimeoutMs = 5_000;
/**
 * Writes what a call leaves behind: its ledger row with its predictions (live keys only) and, under an Idempotency-Key, its
 * reply. A call of one document is written by itself, one of several in a transaction. When that has been committed the
 * call is counted; otherwise it is not.
 */
export class Recorder {
  private readonly insertEntry: (entry: CallEntry) => Promise<void>;
  private readonly transactEntry: (entry: CallEntry) => Promise<void>;

  constructor(private readonly options: RecorderOptions) {
    this.insertEntry = groupCommit((entries) => this.insert(entries));
    this.transactEntry = groupCommit((entries) => this.transact(entries));
  }

  /**
   * Records a call.
   * @returns the reply that was kept to be replayed, if any
   * @throws RecordedButUnanswered when it is not certain in time whether it was recorded; IdempotencyConflict when another call
   * was recorded under the same Idempotency-Key; ApiError refusedRequest when it is too large to be recorded, internalError
   * when it was not recorded
   */
  async record(scored: ScoredCall): Promise<string | undefined> {
    const entry = entryOf(scored);
    try {
      const isOneDocument = entry.documents.length === 1 && entry.reply === undefined;
      await (isOneDocument ? this.insertEntry(entry) : this.transactEntry(entry));
      return entry.reply?.reply;
    } catch (error) {
      if (isDuplicateReply(error)) throw new IdempotencyConflict('the Idempotency-Key was used meanwhile');
      if (!(error instanceof CommitUnknown)) {
        throw new ApiError('internalError', 'The scores could not be recorded.', {
          cause: error,
          retryAfterSeconds: 1,
        });
      }
      throw new RecordedButUnanswered(
        'It could not be confirmed in time that the scores were recorded.',
        error,
      );
    }
  }

  /**
   * Makes sure that a call counts nowhere, now or later: its row is voided, its predictions and its reply are removed.
   * @returns false when its reply was given to a caller who asked again under the Idempotency-Key: the call then stays
   * counted, and nothing was changed
   * @throws what MongoDB fails with; can be called again
   */
  async voidCall(callId: string): Promise<boolean> {
    const { client, ledger, idempotency } = this.options;
    let isVoid = false;
    await inTransaction(
      client,
      async (options) => {
        isVoid = await idempotency.removeCall(callId, options);
        if (!isVoid) return;
        await ledger.voidCall(callId, options);
      },
      { timeoutMs: voidTimeoutMs },
    );
    return isVoid;
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
        await idempotency.insert(replies, options);
        await calls.insert(documentsOf(entries), options);
      },
      { timeoutMs: maxTimeoutMs(entries) },
    );
    return entries.map(() => undefined);
  }
}

function isDuplicateReply(error: unknown): boolean {
  return (
    error instanceof MongoServerError && error.code === duplicateKey && error.message.includes('idempotency')
  );
}
