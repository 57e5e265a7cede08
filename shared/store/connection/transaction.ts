import { type ClientSession, type MongoClient, MongoError } from 'mongodb';
import { retry } from '../../async/retry.js';
import { type WriteOptions, withMongoSignal } from './connect.js';

/** A commit was sent and not confirmed: it may have happened or not. */
export class CommitUnknown extends Error {
  override name = 'CommitUnknown';
}

/** The options of a command that takes part in a transaction, if there is one. */
export const inSession = (session: ClientSession | undefined): { session?: ClientSession } =>
  session === undefined ? {} : { session };

const backOff = { firstDelayMs: 5, maxDelayMs: 100 };
const transient = 'TransientTransactionError';

/**
 * Runs writes in one transaction with `w: majority`. Repeats it while MongoDB labels the error as transient and time is
 * left.
 * @param options.timeoutMs limit of all attempts together
 * @throws CommitUnknown when the commit was not confirmed. After any other error nothing was written
 */
export async function inTransaction(
  client: Pick<MongoClient, 'startSession'>,
  write: (options: WriteOptions) => Promise<void>,
  { timeoutMs }: { readonly timeoutMs: number },
): Promise<void> {
  const signal = AbortSignal.timeout(timeoutMs);
  const attemptOnce = async (): Promise<void> => {
    const session = client.startSession();
    try {
      await attempt(session, write, signal);
    } finally {
      session.endSession().catch(() => undefined);
    }
  };
  await retry(attemptOnce, { ...backOff, isRetryable: (error) => isTransient(error) && !signal.aborted });
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
    // A server that does not answer aborts the transaction after its own time limit.
    await withMongoSignal(signal, session.abortTransaction()).catch(() => undefined);
    throw error;
  }
  await commit(session, signal);
}

/** Commits. A commit is idempotent, so it is repeated until MongoDB reports its outcome or time is over. */
async function commit(session: ClientSession, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await withMongoSignal(signal, session.commitTransaction());
      return;
    } catch (error) {
      if (isTransient(error)) throw error;
      if (signal.aborted) throw new CommitUnknown('the commit was not confirmed in time', { cause: error });
      if (!isUnknownResult(error)) throw new CommitUnknown('the commit was not confirmed', { cause: error });
    }
  }
}

const isTransient = (error: unknown): boolean => error instanceof MongoError && error.hasErrorLabel(transient);

const isUnknownResult = (error: unknown): boolean =>
  error instanceof MongoError && error.hasErrorLabel('UnknownTransactionCommitResult');
