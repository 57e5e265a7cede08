import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '../../shared/logger.js';
import type { Quota } from '../../shared/quota/quota.js';
import { QuotaLeaseLost } from '../../shared/quota/quota-errors.js';
import type { UsageCounter } from '../../shared/redis-keys.js';

export interface TakeBacksOptions {
  /** Makes sure that a call counts nowhere, now or later; false when it has to stay counted. */
  readonly voidCall: (callId: string) => Promise<boolean>;
  readonly quota: Pick<Quota, 'release' | 'settle'>;
  readonly logger: Logger;
}

const firstRetryMs = 250;
const longestRetryMs = 4_000;
/** As long as a void row keeps a commit of its call out. */
const giveUpAfterMs = 60 * 60 * 1_000;
const longestStopMs = 15_000;

/**
 * Takes back calls that were recorded, or may have been, and were not answered with 200: first their ledger row, then what
 * they hold or have used in Redis. In this order, so that Redis never believes less than the ledger says. Each is tried
 * until it is done, since the databases may be away; a gateway does not stop before.
 */
export class TakeBacks {
  private readonly underWay = new Set<Promise<void>>();

  constructor(private readonly options: TakeBacksOptions) {}

  /** Calls that are not taken back yet. */
  get pending(): number {
    return this.underWay.size;
  }

  /** Begins to take a call back. */
  begin(counter: UsageCounter, callId: string): void {
    const done = this.untilDone(counter, callId).finally(() => this.underWay.delete(done));
    this.underWay.add(done);
  }

  /** Waits until there is nothing left to take back, but no longer than 15 s. */
  async stop(): Promise<void> {
    const limit = new AbortController();
    const all = Promise.all(this.underWay).finally(() => limit.abort());
    await Promise.race([all, wait(longestStopMs, undefined, limit).catch(() => undefined)]);
    if (this.underWay.size > 0)
      this.options.logger.error({ calls: this.underWay.size }, 'calls were not taken back before the end');
  }

  private async untilDone(counter: UsageCounter, callId: string): Promise<void> {
    const { logger } = this.options;
    const endMs = performance.now() + giveUpAfterMs;
    for (let delayMs = firstRetryMs; ; delayMs = Math.min(2 * delayMs, longestRetryMs)) {
      try {
        return await this.takeBack(counter, callId);
      } catch (error) {
        if (performance.now() > endMs)
          return logger.error({ call: callId, error }, 'a call was not taken back');
        logger.warn({ call: callId, error }, 'a call is not taken back yet');
      }
      await wait(delayMs);
    }
  }

  /** The sweep may have settled the call meanwhile: its release then has the counter taken from the ledger again. */
  private async takeBack(counter: UsageCounter, callId: string): Promise<void> {
    const { voidCall, quota } = this.options;
    if (await voidCall(callId)) {
      await quota.release(counter, callId);
      return;
    }
    try {
      await quota.settle(counter, callId);
    } catch (error) {
      // The settling that finds no lease has the counter taken from the ledger again.
      if (!(error instanceof QuotaLeaseLost)) throw error;
    }
  }
}
