import { setTimeout as wait } from 'node:timers/promises';
import type { LatestScores } from '../../shared/latest-scores/latest-scores.js';
import type { Logger } from '../../shared/process/logger.js';
import { QuotaLeaseLost } from '../../shared/quota/codes.js';
import type { Quota } from '../../shared/quota/quota.js';
import type { UsageCounter } from '../../shared/redis/keys.js';

export interface CallVoiderOptions {
  /** Makes sure that a call counts nowhere, now or later; false when it has to stay counted. */
  readonly voidCall: (callId: string) => Promise<boolean>;
  readonly quota: Pick<Quota, 'release' | 'settle'>;
  readonly latest: Pick<LatestScores, 'forget'>;
  readonly logger: Logger;
}

const firstRetryMs = 250;
const maxRetryMs = 4_000;
/** As long as a void row keeps a commit of its call out. */
const giveUpAfterMs = 60 * 60 * 1_000;
const maxStopMs = 15_000;

interface LogLines {
  readonly notYet: string;
  readonly never: string;
}

const takenBack: LogLines = {
  notYet: 'a call is not taken back yet',
  never: 'a call was not taken back',
};
const givenUp: LogLines = {
  notYet: 'newest scores are not given up yet',
  never: 'newest scores were not given up',
};

/** A call, by what it is counted in and what it scored with. */
export interface CallOfModel {
  readonly counter: UsageCounter;
  readonly callId: string;
  readonly modelId: string;
}

/**
 * Takes back calls that were recorded, or may have been, and were not answered with 200: first their ledger row, then what
 * they hold or have used in Redis. In this order, so that Redis never believes less than the ledger says. Each is tried
 * until it is done, since the databases may be away; a gateway does not stop before.
 */
export class CallVoider {
  private readonly underWay = new Set<Promise<void>>();

  constructor(private readonly options: CallVoiderOptions) {}

  /** Calls that are not taken back yet. */
  get pending(): number {
    return this.underWay.size;
  }

  /** Begins to take a call back. */
  begin(call: CallOfModel): void {
    this.start(call, takenBack, () => this.takeBack(call));
  }

  /**
   * Begins to give up the newest scores of the model of a call that stands, of which Redis did not say that it was settled:
   * they may lack what it scored.
   */
  forgetScores(call: CallOfModel): void {
    this.start(call, givenUp, () => this.forget(call));
  }

  /** Waits until there is nothing left to take back, but no longer than 15 s. */
  async stop(): Promise<void> {
    const limit = new AbortController();
    const all = Promise.all(this.underWay).finally(() => limit.abort());
    await Promise.race([all, wait(maxStopMs, undefined, limit).catch(() => undefined)]);
    if (this.underWay.size > 0)
      this.options.logger.error({ calls: this.underWay.size }, 'calls were not taken back before the end');
  }

  private start(call: CallOfModel, log: LogLines, work: () => Promise<void>): void {
    const done = this.untilDone(call.callId, log, work).finally(() => this.underWay.delete(done));
    this.underWay.add(done);
  }

  private async untilDone(callId: string, log: LogLines, work: () => Promise<void>): Promise<void> {
    const { logger } = this.options;
    const endMs = performance.now() + giveUpAfterMs;
    for (let delayMs = firstRetryMs; ; delayMs = Math.min(2 * delayMs, maxRetryMs)) {
      try {
        return await work();
      } catch (error) {
        if (performance.now() > endMs) return logger.error({ call: callId, error }, log.never);
        logger.warn({ call: callId, error }, log.notYet);
      }
      await wait(delayMs);
    }
  }

  /** The sweep may have settled the call meanwhile: its release then has the counter taken from the ledger again. */
  private async takeBack(call: CallOfModel): Promise<void> {
    const { voidCall, quota } = this.options;
    const { counter, callId } = call;
    const isVoid = await voidCall(callId);
    await this.forget(call);
    if (isVoid) {
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

  private async forget({ counter, modelId }: CallOfModel): Promise<void> {
    if (counter.bucket === 'live') await this.options.latest.forget(counter.organisationId, [modelId]);
  }
}
