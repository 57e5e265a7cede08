import { retry } from '../async/retry.js';

/** A server that answers but cannot be used. Waiting does not help; the message says what to do. */
export class UnusableServer extends Error {
  override name = 'UnusableServer';
}

/** Enough for a server to restart, or for a replica set to elect a primary. */
const defaultMaxWaitMs = 15_000;
const firstDelayMs = 100;
const maxDelayMs = 500;

/**
 * Runs a step that a process needs before it is ready. Retries failures for a while: a process must also start while
 * Redis or MongoDB restarts, steps down or is full for a moment.
 * @param step must be safe to repeat, also after a success whose reply was lost
 * @param options.maxWaitMs no attempt begins later than this after the first
 * @param options.isFinal errors beside UnusableServer that waiting does not mend
 * @throws UnusableServer and final errors at once; otherwise the last error of the step
 */
export async function retryAtStart<Result>(
  step: () => Promise<Result>,
  options: { readonly maxWaitMs?: number; readonly isFinal?: (error: unknown) => boolean } = {},
): Promise<Result> {
  const { maxWaitMs = defaultMaxWaitMs, isFinal = () => false } = options;
  return await retry(step, {
    firstDelayMs,
    maxDelayMs,
    limitMs: maxWaitMs,
    isRetryable: (error) => !(error instanceof UnusableServer) && !isFinal(error),
  });
}
