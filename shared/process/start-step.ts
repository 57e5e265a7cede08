import { setTimeout as wait } from 'node:timers/promises';

/** A server that answers, and that this process cannot use: its message says what to do, and waiting mends nothing. */
export class UnusableServer extends Error {
  override name = 'Unfit';
}

/** For a server to restart, or a replica set to elect a primary. */
const usualWaitMs = 15_000;
const retryMs = 250;

/**
 * Does what a process needs before it is ready. It must also start while Redis or MongoDB restarts, steps down or is full
 * for a moment: what fails is tried again for a while.
 * @param step may be done again, also when it was done and that was not heard of
 * @param how.maxWaitMs after which it is not begun again
 * @param how.isFinal whether waiting mends nothing, beside Unfit
 * @throws Unfit and what is final at once; else what the step failed with last
 */
export async function retryAtStart<Result>(
  step: () => Promise<Result>,
  {
    maxWaitMs = usualWaitMs,
    isFinal = () => false,
  }: { readonly maxWaitMs?: number; readonly isFinal?: (error: unknown) => boolean } = {},
): Promise<Result> {
  const endMs = performance.now() + maxWaitMs;
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (error instanceof UnusableServer || isFinal(error) || performance.now() + retryMs > endMs)
        throw error;
      await wait(retryMs);
    }
  }
}
