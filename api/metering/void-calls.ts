import { setTimeout as wait } from 'node:timers/promises';
import { retry } from '../../shared/async/retry.js';
import type { LatestScores } from '../../shared/latest-scores/latest-scores.js';
import type { Logger } from '../../shared/process/logger.js';
import { QuotaLeaseLost } from '../../shared/quota/codes.js';
import type { Quota } from '../../shared/quota/quota.js';
import type { UsageCounter } from '../../shared/redis/keys.js';

export interface CallVoiderOptions {
  /** Voids a call in the ledger. Returns false when the call has to stay counted. */
  readonly voidCall: (callId: string) => Promise<boolean>;
  readonly quota: Pick<Quota, 'release' | 'settle'>;
  readonly latest: Pick<LatestScores, 'forget'>;
  readonly logger: Logger;
}

const backOff = { firstDelayMs: 250, maxDelayMs: 4_000 };
/** A void row keeps out a late commit of its call for an hour. */
const giveUpAfterMs = 60 * 60 * 1_000;
const maxStopMs = 15_000;

interface LogLines {
  readonly retrying: string;
  readonly givingUp: string;
}

const voidLines: LogLines = {
  retrying: 'call void failed, retrying',
  givingUp: 'call void failed, giving up',
};
const invalidationLines: LogLines = {
  retrying: 'latest-scores invalidation failed, retrying',
  givingUp: 'latest-scores invalidation failed, giving up',
};

/** A call with its counter. */
export interface VoidableCall {
  readonly counter: UsageCounter;
  readonly callId: string;
}

/**
 * Compensates calls that were recorded, or may have been, and were not answered with 200. It voids the ledger row first
 * and releases the reservation in Redis second, so that Redis never counts less than the ledger. Each step is retried
 * until it succeeds, for up to an hour. A gateway waits for these retries before it stops.
 */
export class CallVoider {
  private readonly inFlight = new Set<Promise<void>>();

  constructor(private readonly options: CallVoiderOptions) {}

  /** Calls that are not void yet. */
  get pending(): number {
    return this.inFlight.size;
  }

  /** Starts to void a call. */
  begin(call: VoidableCall): void {
    this.start(call, voidLines, () => this.void(call));
  }

  /**
   * Starts to invalidate the latest scores of a call's organisation. For a recorded call whose settling Redis did not confirm:
   * the latest scores may lack what the call scored.
   */
  invalidateScores(call: VoidableCall): void {
    this.start(call, invalidationLines, () => this.invalidate(call));
  }

  /** Waits until no call is left, for 15 s at most. */
  async stop(): Promise<void> {
    const limit = new AbortController();
    const all = Promise.all(this.inFlight).finally(() => limit.abort());
    await Promise.race([all, wait(maxStopMs, undefined, limit).catch(() => undefined)]);
    if (this.inFlight.size > 0)
      this.options.logger.error({ calls: this.inFlight.size }, 'shut down with calls that are not void yet');
  }

  private start({ callId }: VoidableCall, lines: LogLines, work: () => Promise<void>): void {
    const { logger } = this.options;
    const endMs = performance.now() + giveUpAfterMs;
    const done = retry(work, {
      ...backOff,
      isRetryable: () => performance.now() <= endMs,
      onRetry: (error) => logger.warn({ call: callId, error }, lines.retrying),
    })
      .catch((error: unknown) => logger.error({ call: callId, error }, lines.givingUp))
      .finally(() => this.inFlight.delete(done));
    this.inFlight.add(done);
  }

  /** The sweep may have settled the call meanwhile. Its release then makes the counter be rebuilt from the ledger. */
  private async void(call: VoidableCall): Promise<void> {
    const { voidCall, quota } = this.options;
    const { counter, callId } = call;
    const isVoid = await voidCall(callId);
    await this.invalidate(call);
    if (isVoid) {
      await quota.release(counter, callId);
      return;
    }
    try {
      await quota.settle(counter, callId);
    } catch (error) {
      // Without a lease, settling makes the counter be rebuilt from the ledger.
      if (!(error instanceof QuotaLeaseLost)) throw error;
    }
  }

  private async invalidate({ counter }: VoidableCall): Promise<void> {
    if (counter.bucket === 'live') await this.options.latest.forget(counter.organisationId);
  }
}
