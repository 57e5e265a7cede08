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
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  return Promise.race([work(signal), late]);
}
