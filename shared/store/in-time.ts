import { untilAborted } from '../until-aborted.js';

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
  return untilTooLate(signal, work(signal));
}

/**
 * Waits for a call to MongoDB, but no longer than until the signal of its time limit is aborted.
 * @throws MongoSilent when it was; else what the call throws
 */
export async function untilTooLate<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  try {
    return await untilAborted(signal, work);
  } catch (error) {
    // What the driver, or a stream, makes of the signal says nothing of MongoDB.
    throw signal.aborted ? new MongoSilent() : error;
  }
}
