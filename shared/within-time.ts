/** What was waited for did not come in time. */
export class OutOfTime extends Error {
  override name = 'OutOfTime';
}

/**
 * Waits for `work`, but no longer than `limitMs`; the work itself goes on. For what happens in every call: costs less than
 * an AbortSignal.
 * @throws OutOfTime when the time is over; else what the work throws
 */
export async function withinTime<Result>(limitMs: number, work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new OutOfTime(`nothing came within ${Math.round(limitMs)} ms`)), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
