import { withTimeout } from '../../shared/async/timeouts.js';
import { ApiError } from '../../shared/contract/errors.js';
import { type Allowance, allowanceOf, type UsageReport, usageReport } from '../../shared/contract/plans.js';
import type { ScoredLeads } from '../../shared/latest-scores/call-notes.js';
import { type Clock, monthEndMs, monthOf } from '../../shared/process/clock.js';
import type { Logger } from '../../shared/process/logger.js';
import { QuotaLeaseLost, QuotaWouldCrossStop } from '../../shared/quota/codes.js';
import type { Quota, Usage } from '../../shared/quota/quota.js';
import type { UsageCounter } from '../../shared/redis/keys.js';
import type { Organisation } from '../../shared/store/accounts/organisations.js';
import type { ScoredRows } from '../dispatch/dispatcher.js';
import { isPastFence, msUntil, type ScoringCall } from '../scoring/scoring-call.js';
import type { CallOfModel, CallVoider } from './void-calls.js';

export interface MeteringOptions {
  readonly quota: Quota;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly callVoider: Pick<CallVoider, 'begin' | 'forgetScores'>;
}

/** A call that was recorded, or may have been, and is not answered with 200: it has to be taken back. */
export class RecordedButUnanswered extends ApiError {
  constructor(message: string, cause?: unknown) {
    super('internalError', message, { cause, retryAfterSeconds: 1 });
  }
}

/** Holds, settles and releases what calls use of their month's quota. */
export class Metering {
  constructor(private readonly options: MeteringOptions) {}

  /**
   * Reserves a call's records, all or none.
   * @throws ApiError quotaExceeded when they would cross the hard stop; internalError when Redis does not answer
   */
  async reserve(call: ScoringCall, organisation: Organisation): Promise<CallReservation> {
    const nowMs = this.options.clock.now();
    const allowance = allowanceOf(organisation, call.bucket);
    const counter = this.counterOf(organisation, call.bucket);
    try {
      const held = await this.options.quota.reserve({
        counter,
        callId: call.id,
        records: call.records.length,
        stop: allowance.hardStop,
        deadlineRedisMs: Math.floor(call.deadline.redisMs),
      });
      return new CallReservation(call, { counter, allowance, held, options: this.options });
    } catch (error) {
      if (error instanceof QuotaWouldCrossStop) throw wouldCrossStop(error, { allowance, call, nowMs });
      throw new ApiError('internalError', 'The quota could not be reserved.', {
        cause: error,
        retryAfterSeconds: 1,
      });
    }
  }

  /** The usage of an organisation's bucket in the current month. */
  async usage(
    organisation: Organisation,
    bucket: UsageCounter['bucket'],
  ): Promise<UsageReport & { month: string }> {
    const counter = this.counterOf(organisation, bucket);
    const { used } = await this.options.quota.usage(counter);
    return { ...usageReport(used, allowanceOf(organisation, bucket)), month: counter.month };
  }

  private counterOf({ _id }: Organisation, bucket: UsageCounter['bucket']): UsageCounter {
    return { organisationId: _id, bucket, month: monthOf(this.options.clock.now()) };
  }
}

/** What one call holds, until it is settled or released. */
export class CallReservation {
  readonly counter: UsageCounter;
  readonly allowance: Allowance;
  /** Usage when the call was reserved, with it in. */
  readonly usageIfSettled: UsageReport;
  private readonly options: MeteringOptions;
  private isRecorded = false;

  constructor(
    private readonly call: ScoringCall,
    held: { counter: UsageCounter; allowance: Allowance; held: Usage; options: MeteringOptions },
  ) {
    this.counter = held.counter;
    this.allowance = held.allowance;
    this.options = held.options;
    this.usageIfSettled = usageReport(held.held.used + call.records.length, held.allowance);
  }

  /**
   * Runs `work`, which records the call. When it fails, what the call holds is given back; when the call was recorded all
   * the same, or may have been, or is done when it has been answered already, it is taken back.
   */
  async compensateOnFailure<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      const result = await work();
      if (isPastFence(this.call.deadline))
        throw new RecordedButUnanswered('The call could not be answered in time.');
      return result;
    } catch (error) {
      if (this.isRecorded || error instanceof RecordedButUnanswered)
        this.options.callVoider.begin(this.callOfModel);
      else this.release();
      throw error;
    }
  }

  /**
   * Turns what is held into usage, after the call was recorded. What Redis does not confirm in time, the sweep settles.
   * @param scored what the workers said
   * @throws RecordedButUnanswered when the lease has gone: the call cannot be counted
   */
  async settle(scored: ScoredRows): Promise<UsageReport> {
    this.isRecorded = true;
    try {
      const settled = this.options.quota.settle(this.counter, this.call.id, {
        stop: this.allowance.hardStop,
        latest: this.latest(scored),
      });
      const { used } = await withTimeout(msUntil(this.call.deadline), settled);
      return usageReport(used, this.allowance);
    } catch (error) {
      if (!(error instanceof QuotaLeaseLost)) {
        this.options.logger.warn(
          { call: this.call.id, error },
          'a recorded call is left to the sweep to settle',
        );
        this.options.callVoider.forgetScores(this.callOfModel);
        return this.usageIfSettled;
      }
      throw new RecordedButUnanswered('The call took too long and was not counted.', error);
    }
  }

  private get callOfModel(): CallOfModel {
    return { counter: this.counter, callId: this.call.id, modelId: this.call.modelId };
  }

  /** What the call leaves as the newest scores of its leads; calls of test keys leave nothing. */
  private latest({ parts }: ScoredRows): ScoredLeads | undefined {
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

  /** Not awaited by the answer: a release that fails is the sweep's. */
  private release(): void {
    this.options.quota.release(this.counter, this.call.id).catch((error: unknown) => {
      this.options.logger.warn(
        { call: this.call.id, error },
        'a failed call is left to the sweep to release',
      );
    });
  }
}

function wouldCrossStop(
  { used, leased }: QuotaWouldCrossStop,
  { allowance, call, nowMs }: { allowance: Allowance; call: ScoringCall; nowMs: number },
): ApiError {
  const what = call.bucket === 'test' ? 'the cap of test keys' : 'the backstop';
  const more = call.records.length === 1 ? '1 more record' : `${call.records.length} more records`;
  const inFlight = leased > 0 ? ` and ${leased} in calls under way` : '';
  return new ApiError(
    'quotaExceeded',
    `${more} would pass ${what} of ${allowance.hardStop} for this month: ${used} ${used === 1 ? 'is' : 'are'} used` +
      `${inFlight}. The call was refused whole and not counted. Usage resets at the start of next month (UTC).`,
    { retryAfterSeconds: secondsToMonthEnd(nowMs) },
  );
}

/** Seconds until usage resets. */
const secondsToMonthEnd = (nowMs: number): number =>
  Math.max(1, Math.ceil((monthEndMs(nowMs) - nowMs) / 1000));
