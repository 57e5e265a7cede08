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
