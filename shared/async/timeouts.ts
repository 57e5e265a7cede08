/**
 * Runs `work` and gives what it gives.
 * @param work is given a promise that resolves when it has ended, however it ends
 */
export async function untilEnded<Result>(work: (ended: Promise<void>) => Promise<Result>): Promise<Result> {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  try {
    return await work(ended);
  } finally {
    end();
  }
}

/** What was waited for did not come in time. */
export class TimedOut extends Error {
  override name = 'OutOfTime';
}

/**
 * Waits for `work`, but no longer than `limitMs`; the work itself goes on. For what happens in every call: costs less than
 * an AbortSignal, and than a race of promises.
 * @param late makes the error of having waited too long; TimedOut when left out
 * @throws what `late` gives when the time is over; else what the work throws
 */
export function withTimeout<Result>(
  limitMs: number,
  work: Promise<Result>,
  late: () => Error = () => new TimedOut(`nothing came within ${Math.round(limitMs)} ms`),
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
 * Waits for `work`, but no longer than until the signal is aborted.
 * @throws the signal's reason when it was aborted first; else what the work throws
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
