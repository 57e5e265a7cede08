import { setTimeout as pause } from 'node:timers/promises';
import type { ApiFailure } from './api-reply.js';
import { delayMs } from './connection-failure.js';

/** Sleeps for `durationMs`; rejects when the signal is aborted. */
export type Wait = (durationMs: number, signal: AbortSignal) => Promise<void>;

export const realWait: Wait = (durationMs, signal) => pause(durationMs, undefined, { signal });

/** The means of waiting for a service that does not answer. Tests replace them. */
export interface WaitMeans {
  readonly signal: AbortSignal;
  readonly wait: Wait;
  /** Ms of a monotonic clock. */
  readonly now: () => number;
  /** Called with the reason before each wait. */
  readonly onWait: (why: string) => void;
}

/** Waits between attempts, with a back-off, until the service has failed for too long without any progress. */
export class Patience {
  private failures = 0;
  private sinceMs: number | undefined;

  /** @param maxMs time without progress after which `failed` gives up */
  constructor(
    private readonly means: WaitMeans,
    private readonly maxMs: number,
  ) {}

  /** An attempt made progress: the next failure is the first one again. */
  succeeded(): void {
    this.failures = 0;
    this.sinceMs = undefined;
  }

  /**
   * Waits after a failed attempt.
   * @returns false without a wait when there has been no progress for `maxMs`. Rejects when the command is stopped
   */
  async failed(failure: ApiFailure): Promise<boolean> {
    const { now, signal, wait, onWait } = this.means;
    this.sinceMs ??= now();
    if (now() - this.sinceMs >= this.maxMs) return false;
    this.failures += 1;
    const why = failure.status === 0 ? failure.message : `${failure.code} (status ${failure.status})`;
    onWait(`trying again after: ${why}`);
    await wait(delayMs(this.failures, failure.retryAfterSeconds), signal);
    return true;
  }
}

/** Whether the same request may succeed later: a lost connection, an error of the service, or a limit of calls. */
export const mayPass = ({ status, code }: ApiFailure): boolean =>
  status === 0 || status >= 500 || code === 'rate_limited' || status === 408;
