import { setTimeout as wait } from 'node:timers/promises';

export interface RetryOptions {
  /** Ms before the second attempt; doubled for each further one, up to `maxDelayMs`. */
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** Whether another attempt may help. Called once for each failure. */
  readonly isRetryable: (error: unknown) => boolean;
  /** Runs before each wait. */
  readonly onRetry?: (error: unknown) => void;
  /** No attempt begins later than this many ms after the first. No limit by default. */
  readonly limitMs?: number;
  /** Once aborted, no further attempt begins, and a wait ends at once. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs `work` until it succeeds, with exponential back-off. It runs at least once, and must be safe to repeat.
 * @throws the error of the last attempt: not retryable, out of time, or aborted
 */
export async function retry<Result>(
  work: () => Promise<Result>,
  { firstDelayMs, maxDelayMs, isRetryable, onRetry, limitMs = Number.POSITIVE_INFINITY, signal }: RetryOptions,
): Promise<Result> {
  const endMs = performance.now() + limitMs;
  for (let delayMs = firstDelayMs; ; delayMs = Math.min(2 * delayMs, maxDelayMs)) {
    try {
      return await work();
    } catch (error) {
      if (!isRetryable(error) || signal?.aborted || performance.now() + delayMs > endMs) throw error;
      onRetry?.(error);
      await wait(delayMs, undefined, signal && { signal }).catch(() => undefined);
      if (signal?.aborted) throw error;
    }
  }
}

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
