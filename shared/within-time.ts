/** What was waited for did not come in time. */
export class OutOfTime extends Error {
  override name = 'OutOfTime';
}

/**
 * Waits for `work`, but no longer than `limitMs`; the work itself goes on. For what happens in every call: costs less than
 * an AbortSignal, and than a race of promises.
 * @param late makes the error of having waited too long; OutOfTime when left out
 * @throws what `late` gives when the time is over; else what the work throws
 */
export function withinTime<Result>(
  limitMs: number,
  work: Promise<Result>,
  late: () => Error = () => new OutOfTime(`nothing came within ${Math.round(limitMs)} ms`),
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
