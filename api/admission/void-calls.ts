import { setTimeout as wait } from 'node:timers/promises';
import { Limit } from '../../shared/async/at-once.js';
import { retry } from '../../shared/async/retry.js';
import type { Logger } from '../../shared/process/logger.js';
import { type CallVoids, maxVoidsAtOnce, type VoidableCall } from '../../shared/quota/voids.js';

export interface CallVoiderOptions {
  readonly voids: Pick<CallVoids, 'add' | 'void' | 'invalidateScores'>;
  readonly logger: Logger;
}

const backOff = { firstDelayMs: 250, maxDelayMs: 4_000 };
const maxStopMs = 15_000;
/** With more calls to void, no further call may be recorded: MongoDB does not confirm writes. */
const maxPending = 256;

/**
 * Voids calls of this gateway that were recorded, or may have been, and were not answered with 200. Several calls are
 * voided at once; the others wait. Each step is retried until it succeeds. A gateway waits for these retries before it
 * stops.
 */
export class CallVoider {
  private readonly inFlight = new Set<Promise<void>>();
  private readonly toVoid = new Set<VoidableCall>();
  private readonly voiding = new Limit(maxVoidsAtOnce);

  constructor(private readonly options: CallVoiderOptions) {}

  /** Calls that are not void yet. */
  get pending(): number {
    return this.toVoid.size;
  }

  get isFull(): boolean {
    return this.pending >= maxPending;
  }

  /**
   * Starts to void a call.
   * @returns resolves when the call is in Redis, which survives this gateway
   */
  begin(call: VoidableCall): Promise<void> {
    const { voids } = this.options;
    const stored = this.start(call, 'call to void could not be noted in Redis, retrying', () => voids.add(call));
    this.toVoid.add(call);
    const voiding = () => this.voiding.run(() => voids.void(call));
    this.start(call, 'call void failed, retrying', voiding).then(() => this.toVoid.delete(call));
    return stored;
  }

  /**
   * Starts to invalidate the latest scores of a call's organisation. For a recorded call whose settling Redis did not
   * confirm: the latest scores may lack what the call scored.
   */
  invalidateScores(call: VoidableCall): void {
    const invalidate = () => this.options.voids.invalidateScores(call);
    this.start(call, 'latest-scores invalidation failed, retrying', invalidate);
  }

  /** Waits until no call is left, for 15 s at most. */
  async stop(): Promise<void> {
    const limit = new AbortController();
    const all = Promise.all(this.inFlight).finally(() => limit.abort());
    await Promise.race([all, wait(maxStopMs, undefined, limit).catch(() => undefined)]);
    if (this.inFlight.size > 0)
      this.options.logger.error({ calls: this.pending }, 'shut down with calls that are not void yet');
  }

  private start({ callId }: VoidableCall, retrying: string, work: () => Promise<void>): Promise<void> {
    const { logger } = this.options;
    const onRetry = (error: unknown) => logger.warn({ call: callId, error }, retrying);
    const done = retry(work, { ...backOff, isRetryable: () => true, onRetry }).finally(() =>
      this.inFlight.delete(done),
    );
    this.inFlight.add(done);
    return done;
  }
}
