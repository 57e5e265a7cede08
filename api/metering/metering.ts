import { ApiError } from '../../shared/contract/errors.js';
import { type Allowance, allowanceOf, type UsageReport, usageReport } from '../../shared/contract/plans.js';
import { type Clock, monthEndMs, monthOf } from '../../shared/process/clock.js';
import { QuotaWouldCrossStop } from '../../shared/quota/codes.js';
import type { Quota } from '../../shared/quota/quota.js';
import type { UsageBucket, UsageCounter } from '../../shared/redis/keys.js';
import type { Organisation } from '../../shared/store/accounts/organisations.js';
import type { ScoringCall } from '../scoring/scoring-call.js';
import { CallReservation, type ReservationDeps } from './call-reservation.js';

export interface MeteringOptions extends ReservationDeps {
  readonly quota: Quota;
  readonly clock: Clock;
}

const clockToleranceMs = 10 * 60 * 1_000;
const notConfirming = 'Scores cannot be recorded now: the database does not confirm its writes.';

/** Reserves the month's quota for calls, and reports its usage. */
export class Metering {
  constructor(private readonly options: MeteringOptions) {}

  /**
   * Reserves a call's records, all or none.
   * @throws ApiError quotaExceeded when they would cross the hard stop; internalError when Redis does not answer, or
   * while too many calls wait to be voided
   */
  async reserve(call: ScoringCall, organisation: Organisation): Promise<CallReservation> {
    const nowMs = this.options.clock.now();
    const allowance = allowanceOf(organisation, call.bucket);
    const counter = this.counterOf(organisation, call.bucket);
    if (this.options.callVoider.isFull) throw new ApiError('internalError', notConfirming, { retryAfterSeconds: 1 });
    try {
      const usage = await this.options.quota.reserve({
        counter,
        callId: call.id,
        records: call.records.length,
        stop: allowance.hardStop,
        deadlineRedisMs: Math.floor(call.deadline.redisMs),
      });
      return new CallReservation(call, { counter, allowance, usage }, this.options);
    } catch (error) {
      if (error instanceof QuotaWouldCrossStop) throw wouldCrossStop(error, { allowance, call, nowMs });
      throw new ApiError('internalError', 'The quota could not be reserved.', {
        cause: error,
        retryAfterSeconds: 1,
      });
    }
  }

  /** The usage of an organisation's bucket in the current month. */
  async usage(organisation: Organisation, bucket: UsageCounter['bucket']): Promise<UsageReport & { month: string }> {
    const counter = this.counterOf(organisation, bucket);
    const { used } = await this.options.quota.usage(counter);
    return { ...usageReport(used, allowanceOf(organisation, bucket)), month: counter.month };
  }

  /** Whether calls of an organisation hold records, in this month or one that began or ends within minutes. */
  async hasCallsInFlight(organisationId: string): Promise<boolean> {
    const nowMs = this.options.clock.now();
    const months = new Set([nowMs - clockToleranceMs, nowMs, nowMs + clockToleranceMs].map(monthOf));
    const { commands } = this.options.quota;
    const read = (bucket: UsageBucket) => [...months].map((month) => commands.read({ organisationId, bucket, month }));
    const found = await Promise.all([...read('live'), ...read('test')]);
    return found.some(({ leased }) => leased > 0);
  }

  private counterOf({ _id }: Organisation, bucket: UsageCounter['bucket']): UsageCounter {
    return { organisationId: _id, bucket, month: monthOf(this.options.clock.now()) };
  }
}

function wouldCrossStop(
  { used, leased }: QuotaWouldCrossStop,
  { allowance, call, nowMs }: { allowance: Allowance; call: ScoringCall; nowMs: number },
): ApiError {
  const stop = call.bucket === 'test' ? 'the cap of test keys' : 'the backstop';
  const more = call.records.length === 1 ? '1 more record' : `${call.records.length} more records`;
  const inFlight = leased > 0 ? ` and ${leased} in calls in flight` : '';
  return new ApiError(
    'quotaExceeded',
    `${more} would pass ${stop} of ${allowance.hardStop} for this month: ${used} ${used === 1 ? 'is' : 'are'} used` +
      `${inFlight}. The call was refused whole and not counted. Usage resets at the start of next month (UTC).`,
    { retryAfterSeconds: secondsToMonthEnd(nowMs) },
  );
}

/** Seconds until usage resets. */
const secondsToMonthEnd = (nowMs: number): number => Math.max(1, Math.ceil((monthEndMs(nowMs) - nowMs) / 1000));
