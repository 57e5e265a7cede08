import { type ClientSession, type MongoClient, MongoError } from 'mongodb';
import type { WriteOptions } from '../../shared/store/connect.js';

/** A transaction whose commit was sent and not confirmed: it may have happened or not. */
export class CommitUnknown extends Error {
  override name = 'CommitUnknown';
}

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
  const endMs = performance.now() + timeoutMs;
  const remainingMs = () => Math.max(1, Math.floor(endMs - performance.now()));
  for (;;) {
    const session = client.startSession();
    try {
      await attempt(session, write, remainingMs);
      return;
    } catch (error) {
      const mayRetry = error instanceof MongoError && error.hasErrorLabel(transient) && remainingMs() > 1;
      if (!mayRetry) throw error;
    } finally {
      session.endSession().catch(() => undefined);
    }
  }
}

async function attempt(
  session: ClientSession,
  write: (options: WriteOptions) => Promise<void>,
  remainingMs: () => number,
): Promise<void> {
  session.startTransaction({ writeConcern: { w: 'majority' } });
  try {
    await write({ session, timeoutMs: remainingMs() });
  } catch (error) {
    await session.abortTransaction({ timeoutMS: remainingMs() }).catch(() => undefined);
    throw error;
  }
  await commit(session, remainingMs);
}

/** A commit is idempotent: it is sent again until MongoDB says what became of it, or the time is over. */
async function commit(session: ClientSession, remainingMs: () => number): Promise<void> {
  for (;;) {
    try {
      await session.commitTransaction({ timeoutMS: remainingMs() });
      return;
    } catch (error) {
      if (error instanceof MongoError && error.hasErrorLabel(transient)) throw error;
      if (remainingMs() <= 1)
        throw new CommitUnknown('the commit was not confirmed in time', { cause: error });
    }
  }
}
