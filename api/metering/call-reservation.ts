import { withTimeout } from '../../shared/async/timeouts.js';
import { ApiError } from '../../shared/contract/errors.js';
import { type Allowance, type UsageReport, usageReport } from '../../shared/contract/plans.js';
import type { ScoredLeads } from '../../shared/latest-scores/latest-scores.js';
import type { Logger } from '../../shared/process/logger.js';
import { QuotaLeaseLost } from '../../shared/quota/codes.js';
import type { Quota, Usage } from '../../shared/quota/quota.js';
import type { VoidableCall } from '../../shared/quota/voids.js';
import type { UsageCounter } from '../../shared/redis/keys.js';
import type { ScoredRows } from '../dispatch/dispatcher.js';
import { isPastFence, msUntil, msUntilFence, type ScoringCall } from '../scoring/scoring-call.js';
import type { CallVoider } from './void-calls.js';

export interface ReservationDeps {
  readonly quota: Pick<Quota, 'settle' | 'release'>;
  readonly logger: Logger;
  readonly callVoider: Pick<CallVoider, 'begin' | 'invalidateScores' | 'isFull'>;
}

/** The answer of a failed call waits for Redis for this long at most. */
const maxCompensationMs = 250;

/** A call was recorded, or may have been, and is not answered with 200: it has to be voided. */
export class RecordedButUnanswered extends ApiError {
  constructor(message: string, cause?: unknown) {
    super('internalError', message, { cause, retryAfterSeconds: 1 });
  }
}

/** The records that one call holds until it is settled or released. */
export class CallReservation {
  readonly counter: UsageCounter;
  readonly allowance: Allowance;
  /** Usage at the time of the reservation, with this call included. */
  readonly usageIfSettled: UsageReport;
  private isRecorded = false;

  constructor(
    private readonly call: ScoringCall,
    held: { readonly counter: UsageCounter; readonly allowance: Allowance; readonly usage: Usage },
    private readonly options: ReservationDeps,
  ) {
    this.counter = held.counter;
    this.allowance = held.allowance;
    this.usageIfSettled = usageReport(held.usage.used + call.records.length, held.allowance);
  }

  /**
   * Runs `work`, which records the call. On failure it releases the reservation. If the call was recorded, or may have
   * been, or ended after its deadline, it voids the call instead. Before it throws, it waits shortly until Redis has the
   * release or the note of the void. Then a retry finds its quota free, and this gateway may end.
   */
  async compensateOnFailure<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      const result = await work();
      if (isPastFence(this.call.deadline)) throw new RecordedButUnanswered('The call could not be answered in time.');
      return result;
    } catch (error) {
      const isVoid = this.isRecorded || error instanceof RecordedButUnanswered;
      const compensated = isVoid ? this.options.callVoider.begin(this.voidable) : this.release();
      const leftMs = isVoid ? msUntilFence(this.call.deadline) : msUntil(this.call.deadline);
      await withTimeout(Math.min(maxCompensationMs, leftMs), compensated).catch(() => undefined);
      throw error;
    }
  }

  /**
   * Turns the reservation into usage after the call was recorded. When Redis does not confirm in time, the sweep settles it.
   * @throws RecordedButUnanswered when the lease is lost: the call cannot be counted
   */
  async settle(scored: ScoredRows): Promise<UsageReport> {
    this.isRecorded = true;
    try {
      const settled = this.options.quota.settle(this.counter, this.call.id, {
        stop: this.allowance.hardStop,
        latest: this.scoredLeads(scored),
      });
      const { used } = await withTimeout(msUntil(this.call.deadline), settled);
      return usageReport(used, this.allowance);
    } catch (error) {
      if (error instanceof QuotaLeaseLost)
        throw new RecordedButUnanswered('The call took too long and was not counted.', error);
      this.options.logger.warn({ call: this.call.id, error }, 'settle failed, the sweep will settle the call');
      this.options.callVoider.invalidateScores(this.voidable);
      return this.usageIfSettled;
    }
  }

  private get voidable(): VoidableCall {
    return { counter: this.counter, callId: this.call.id };
  }

  /** The call's part of the latest scores. Calls with a test key have none. */
  private scoredLeads({ parts }: ScoredRows): ScoredLeads | undefined {
    const { bucket, modelId, records } = this.call;
    if (bucket !== 'live') return undefined;
    const [epoch = '', ...others] = new Set(parts.flatMap((part) => part.epoch ?? []));
    return {
      modelId,
      crmIds: records.map(({ crmId }) => crmId),
      scores: parts.flatMap(({ scores }) => scores),
      epoch: others.length === 0 ? epoch : '',
    };
  }

  /** The sweep repeats a release that fails. */
  private async release(): Promise<void> {
    const { logger, quota } = this.options;
    await quota.release(this.counter, this.call.id).catch((error: unknown) => {
      logger.warn({ call: this.call.id, error }, 'release failed, the sweep will release the call');
    });
  }
}
