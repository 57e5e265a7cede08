/** What the time of a call to MongoDB was over without. Its message is what a log says, so it names what to look at. */
export class MongoSilent extends Error {
  override name = 'MongoSilent';

  constructor() {
    super('MongoDB did not answer in time: check that it is running, has a primary, and is not overloaded');
  }
}

/**
 * Bounds one call to MongoDB. The driver's `timeoutMS` option does nothing as of 7.8, and a frozen server keeps
 * the connection open, so without this a call may wait for ever.
 * @param timeoutMs how long the call may take
 * @param work makes the call; the signal is for the driver's `signal` option or for a stream, so that the
 *   connection is given up as well
 * @returns what the work gives
 * @throws MongoSilent after `timeoutMs`, even when the work itself does not heed the signal; before that whatever the
 *   work throws
 */
export function inTime<Result>(
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const signal = AbortSignal.timeout(timeoutMs);
  return untilAborted(signal, work(signal));
}

/**
 * Waits for `work`, but no longer than until the signal, which is that of a time limit, is aborted.
 * @throws MongoSilent when it was aborted first; else what the work throws
 */
export async function untilAborted<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  let stopWaiting = (): void => undefined;
  const late = new Promise<never>((_, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    stopWaiting = () => signal.removeEventListener('abort', abort);
  });
  try {
    return await Promise.race([work, late]);
  } catch (error) {
    // What the driver, or a stream, makes of the signal says nothing of MongoDB.
    throw signal.aborted ? new MongoSilent() : error;
  } finally {
    stopWaiting();
  }
}
