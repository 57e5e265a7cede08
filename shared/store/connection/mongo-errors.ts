import { MongoServerError } from 'mongodb';
import { withSignal } from '../../async/timeouts.js';

/** MongoDB's error codes. */
const unauthorized = 13;
export const collectionExists = 48;
export const maxTimeExpired = 50;
export const duplicateKey = 11_000;

/** A call to MongoDB timed out. Logs show its message, which therefore says what to check. */
export class MongoTimeout extends Error {
  override name = 'MongoTimeout';

  constructor() {
    super('MongoDB did not answer in time: check that it is running, has a primary, and is not overloaded');
  }
}

/**
 * Limits the time of one call to MongoDB. A frozen server keeps its connections open, so a call without limit may hang
 * for ever. The driver's `timeoutMS` option has no effect as of 7.8.
 * @param work passes the signal to the driver's `signal` option or to a stream, so that the connection is closed too
 * @throws MongoTimeout after `timeoutMs`, even when the work ignores the signal; before that, its own error
 */
export function withMongoTimeout<Result>(
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const signal = AbortSignal.timeout(timeoutMs);
  return withMongoSignal(signal, work(signal));
}

/**
 * Waits for a call to MongoDB until the signal of its time limit is aborted.
 * @throws MongoTimeout after the abort; before that, the error of the call
 */
export async function withMongoSignal<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  try {
    return await withSignal(signal, work);
  } catch (error) {
    // The driver's own abort error does not say what to check.
    throw signal.aborted ? new MongoTimeout() : error;
  }
}

/** The remedy when MongoDB lacks a login or the user lacks a right; undefined for any other error. */
export function missingRights(error: unknown): string | undefined {
  if (!(error instanceof MongoServerError) || error.code !== unauthorized) return undefined;
  return /requires authentication/i.test(error.message)
    ? 'MongoDB asks for a user and a password: put them into MONGODB_URL, as mongodb://user:password@host:port/database'
    : 'MongoDB does not let the user in MONGODB_URL work on its database: give it the role readWrite there';
}
