/** A result did not come in time. */
export class TimedOut extends Error {
  override name = 'TimedOut';
}

/**
 * Waits for `work` for at most `limitMs`. The work itself is not cancelled. Every call runs through this: a plain timer
 * costs less than an AbortSignal, and less than a race of promises.
 * @param late makes the error for a result that is late; TimedOut by default
 * @throws the error of `late` after `limitMs`; the error of `work` before
 */
export function withTimeout<Result>(
  limitMs: number,
  work: Promise<Result>,
  late: () => Error = () => new TimedOut(`no result within ${Math.round(limitMs)} ms`),
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), limitMs);
    work.then(
      (result) => {
        clearTimeout(timer);
        resolve(result);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/**
 * Waits for `work` until the signal is aborted. The work itself is not cancelled.
 * @throws the signal's reason when it is aborted first; otherwise the error of `work`
 */
export async function withSignal<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
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

/**
 * Waits for all of some works, also after one has failed.
 * @throws the error of the first in order that failed
 */
export async function settledOrThrow(works: readonly Promise<unknown>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(works)) if (outcome.status === 'rejected') throw outcome.reason;
}
