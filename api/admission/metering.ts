import { withTimeout } from '../../shared/async/timeouts.js';
import { type Clock, monthEndMs, monthOf } from '../../shared/contract/dates.js';
import { ApiError } from '../../shared/contract/errors.js';
import { type Allowance, allowanceOf, type UsageReport, usageReport } from '../../shared/contract/plans.js';
import type { ScoredLeads } from '../../shared/latest-scores/note-scores.js';
import type { Logger } from '../../shared/process/logger.js';
import { QuotaLeaseLost, QuotaTooLate, QuotaWouldCrossStop } from '../../shared/quota/commands.js';
import type { Quota, Usage } from '../../shared/quota/quota.js';
import type { VoidableCall } from '../../shared/quota/voids.js';
import type { UsageCounter } from '../../shared/redis/keys.js';
import type { Organisation } from '../../shared/store/accounts/organisations.js';
import type { ScoredRows } from '../call/score-outcome.js';
import { isPastFence, msUntil, msUntilFence, type ScoringCall } from '../call/scoring-call.js';
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
   * been, or ended after its deadline, it voids the call instead. Before it throws, it waits shortly until Redis has
   * the release or the entry of the void. Then a retry finds its quota free, and this gateway may end.
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
   * Converts the reservation to usage after the call was recorded. When Redis does not confirm in time, the sweep
   * settles it.
   * @param version of the model that scored the call
   * @throws RecordedButUnanswered when the lease is lost: the call cannot be counted
   */
  async settle(scored: ScoredRows, version: string): Promise<UsageReport> {
    this.isRecorded = true;
    try {
      const settled = this.options.quota.settle(this.counter, this.call.id, {
        stop: this.allowance.hardStop,
        latest: this.scoredLeads(scored, version),
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
  private scoredLeads({ parts }: ScoredRows, version: string): ScoredLeads | undefined {
    const { bucket, modelId, records } = this.call;
    if (bucket !== 'live') return undefined;
    const [epoch = '', ...others] = new Set(parts.flatMap((part) => part.epoch ?? []));
    return {
      ...{ modelId, version },
      crmIds: records.map(({ crmId }) => crmId),
      scores: parts.flatMap(({ scores }) => scores),
      gaps: parts.flatMap(({ scores, gaps }) => gaps ?? scores.map(() => 0)),
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

export interface MeteringOptions extends ReservationDeps {
  readonly quota: Pick<Quota, 'reserve' | 'settle' | 'release' | 'usage'>;
  readonly clock: Clock;
}

const startedTooLate = 'The call could not be started in time. It was not counted. Retry later.';
const notConfirming = 'Scores cannot be recorded now: the database does not confirm its writes.';

/** Reserves the month's quota for calls, and reports its usage. */
export class Metering {
  constructor(private readonly options: MeteringOptions) {}

  /**
   * Reserves a call's records, all or none.
   * @param stopAt where usage must stop: at the hard stop, or at the limit, which leaves the grace band to other calls
   * @throws ApiError quotaExceeded when they would cross the hard stop; internalError when Redis does not answer, or
   * while too many calls wait to be voided
   */
  async reserve(
    call: ScoringCall,
    organisation: Organisation,
    stopAt: 'hardStop' | 'limit' = 'hardStop',
  ): Promise<CallReservation> {
    const nowMs = this.options.clock.now();
    const allowance = allowanceOf(organisation, call.bucket);
    const counter = this.counterOf(organisation, call.bucket);
    if (this.options.callVoider.isFull) throw new ApiError('internalError', notConfirming, { retryAfterSeconds: 1 });
    try {
      const usage = await this.options.quota.reserve({
        counter,
        callId: call.id,
        records: call.records.length,
        stop: allowance[stopAt],
        deadlineRedisMs: Math.floor(call.deadline.redisMs),
      });
      return new CallReservation(call, { counter, allowance, usage }, this.options);
    } catch (error) {
      if (error instanceof QuotaWouldCrossStop) throw wouldCrossStop(error, { allowance, stopAt, call, nowMs });
      const message = error instanceof QuotaTooLate ? startedTooLate : 'The quota could not be reserved.';
      throw new ApiError('internalError', message, { cause: error, retryAfterSeconds: 1 });
    }
  }

  /** The usage of an organisation's bucket in the current month. */
  async usage(organisation: Organisation, bucket: UsageCounter['bucket']): Promise<UsageReport & { month: string }> {
    const counter = this.counterOf(organisation, bucket);
    const { used } = await this.options.quota.usage(counter);
    return { ...usageReport(used, allowanceOf(organisation, bucket)), month: counter.month };
  }

  private counterOf({ _id }: Organisation, bucket: UsageCounter['bucket']): UsageCounter {
    return { organisationId: _id, bucket, month: monthOf(this.options.clock.now()) };
  }
}

function wouldCrossStop(
  { used, leased }: QuotaWouldCrossStop,
  {
    allowance,
    stopAt,
    call,
    nowMs,
  }: { allowance: Allowance; stopAt: 'hardStop' | 'limit'; call: ScoringCall; nowMs: number },
): ApiError {
  const ofLive = stopAt === 'limit' ? 'the limit' : 'the backstop';
  const stop = call.bucket === 'test' ? 'the cap of test keys' : ofLive;
  const refused = call.tolerant === true ? '' : ' The call was refused whole and not counted.';
  const more = call.records.length === 1 ? '1 more record' : `${call.records.length} more records`;
  const inFlight = leased > 0 ? ` and ${leased} in calls in flight` : '';
  return new ApiError(
    'quotaExceeded',
    `${more} would pass ${stop} of ${allowance[stopAt]} for this month: ${used} ${used === 1 ? 'is' : 'are'} used` +
      `${inFlight}.${refused} Usage resets at the start of next month (UTC).`,
    { retryAfterSeconds: secondsToMonthEnd(nowMs) },
  );
}

/** Seconds until usage resets. */
const secondsToMonthEnd = (nowMs: number): number => Math.max(1, Math.ceil((monthEndMs(nowMs) - nowMs) / 1000));
