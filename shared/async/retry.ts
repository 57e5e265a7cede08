import { setTimeout as wait } from 'node:timers/promises';

export interface RetryOptions {
  /** Delay before the second attempt, in ms. Each further delay is twice as long. */
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** Whether another attempt may help. Called once for each failure. */
  readonly isRetryable: (error: unknown) => boolean;
  /** Called before each delay. */
  readonly onRetry?: (error: unknown) => void;
}

/**
 * Repeats `work` with exponential back-off until it succeeds.
 * @throws the first error that is not retryable
 */
export async function retry<Result>(
  work: () => Promise<Result>,
  { firstDelayMs, maxDelayMs, isRetryable, onRetry }: RetryOptions,
): Promise<Result> {
  for (let delayMs = firstDelayMs; ; delayMs = Math.min(2 * delayMs, maxDelayMs)) {
    try {
      return await work();
    } catch (error) {
      if (!isRetryable(error)) throw error;
      onRetry?.(error);
    }
    await wait(delayMs);
  }
}
