/**
 * Bounds one call to MongoDB. The driver's `timeoutMS` option does nothing as of 7.8, and a frozen server keeps
 * the connection open, so without this a call may wait for ever.
 * @param timeoutMs how long the call may take
 * @param work makes the call; the signal is for the driver's `signal` option or for a stream, so that the
 *   connection is given up as well
 * @returns what the work gives
 * @throws a DOMException named TimeoutError, or what the driver makes of the signal, after `timeoutMs`, even when
 *   the work itself does not heed the signal; before that whatever the work throws
 */
export function inTime<Result>(
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const signal = AbortSignal.timeout(timeoutMs);
  return untilAborted(signal, work(signal));
}

/**
 * Waits for `work`, but no longer than until the signal is aborted.
 * @throws the signal's reason when it was aborted first; else what the work throws
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
  } finally {
    stopWaiting();
  }
}
