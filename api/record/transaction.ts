import { setTimeout as wait } from 'node:timers/promises';
import { type ClientSession, type MongoClient, MongoError } from 'mongodb';
import type { WriteOptions } from '../../shared/store/connection/connect.js';
import { withMongoSignal } from '../../shared/store/connection/mongo-errors.js';

/** A transaction whose commit was sent and not confirmed: it may have happened or not. */
export class CommitUnknown extends Error {
  override name = 'CommitUnknown';
}

const firstDelayMs = 5;
const maxDelayMs = 100;
const transient = 'TransientTransactionError';

/**
 * Runs writes in one transaction with `w: majority`, again for as long as MongoDB says that trying again may help and
 * there is time.
 * @param options.timeoutMs for all of it
 * @throws CommitUnknown when the commit was not confirmed; otherwise what MongoDB says, and nothing was written
 */
export async function inTransaction(
  client: MongoClient,
  write: (options: WriteOptions) => Promise<void>,
  { timeoutMs }: { readonly timeoutMs: number },
): Promise<void> {
  const signal = AbortSignal.timeout(timeoutMs);
  for (let delayMs = firstDelayMs; ; delayMs = Math.min(2 * delayMs, maxDelayMs)) {
    const session = client.startSession();
    try {
      await attempt(session, write, signal);
      return;
    } catch (error) {
      const mayRetry = error instanceof MongoError && error.hasErrorLabel(transient) && !signal.aborted;
      if (!mayRetry) throw error;
      await wait(delayMs);
    } finally {
      session.endSession().catch(() => undefined);
    }
  }
}

async function attempt(
  session: ClientSession,
  write: (options: WriteOptions) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  session.startTransaction({ writeConcern: { w: 'majority' } });
  try {
    await withMongoSignal(signal, write({ session, signal }));
  } catch (error) {
    // A server that does not answer forgets the transaction by itself.
    await withMongoSignal(signal, session.abortTransaction()).catch(() => undefined);
    throw error;
  }
  await commit(session, signal);
}

/** A commit is idempotent: it is sent again until MongoDB says what became of it, or the time is over. */
async function commit(session: ClientSession, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await withMongoSignal(signal, session.commitTransaction());
      return;
    } catch (error) {
      if (error instanceof MongoError && error.hasErrorLabel(transient)) throw error;
      if (signal.aborted) throw new CommitUnknown('the commit was not confirmed in time', { cause: error });
      if (!isWorthAnotherTry(error))
        throw new CommitUnknown('the commit was not confirmed', { cause: error });
    }
  }
}

const isWorthAnotherTry = (error: unknown): boolean =>
  error instanceof MongoError && error.hasErrorLabel('UnknownTransactionCommitResult');
