import { eachAtOnce } from '../async/at-once.js';
import type { LatestScores } from '../latest-scores/latest-scores.js';
import type { Redis } from '../redis/connect.js';
import { callsToVoidKey, type UsageCounter } from '../redis/keys.js';
import { QuotaLeaseLost } from './commands.js';
import { counterOf, memberOf } from './leases.js';
import type { Quota } from './quota.js';

/** Calls that one process voids at once: each takes a connection to MongoDB. */
export const maxVoidsAtOnce = 8;
const maxPerSweep = 500;
/** No call is begun later in a sweep: a silent node of a cluster must not delay the next sweep. */
const maxSweepMs = 3_000;

/** A call with its counter. */
export interface VoidableCall {
  readonly counter: UsageCounter;
  readonly callId: string;
}

export interface CallVoidsDeps {
  readonly redis: Redis;
  readonly quota: Pick<Quota, 'release' | 'settle'>;
  readonly latest: Pick<LatestScores, 'forget'>;
  /** Voids a call in the ledger. Returns false when the call has to stay counted. */
  readonly voidInLedger: (call: { readonly organisationId: string; readonly callId: string }) => Promise<boolean>;
}

/**
 * Compensates calls that were recorded, or may have been, and were not answered with 200. Their gateway stores them in
 * Redis before it answers, and voids them. The sweep voids those whose gateway has ended meanwhile.
 */
export class CallVoids {
  constructor(private readonly deps: CallVoidsDeps) {}

  /** Adds a call to those that the sweep voids. */
  async add({ counter, callId }: VoidableCall): Promise<void> {
    await this.deps.redis.hset(callsToVoidKey, callId, memberOf(counter));
  }

  /**
   * Voids a call: its ledger row first and its reservation second, so that Redis never counts less than the ledger. The
   * sweep may have settled the call before. Its release then makes the counter be recounted. Idempotent.
   * @throws the error of Redis or MongoDB; the call stays to be voided
   */
  async void(call: VoidableCall): Promise<void> {
    const { redis, quota, voidInLedger } = this.deps;
    const { counter, callId } = call;
    const isVoid = await voidInLedger({ organisationId: counter.organisationId, callId });
    await this.invalidateScores(call);
    if (isVoid) await quota.release(counter, callId);
    else
      await quota.settle(counter, callId).catch((error: unknown) => {
        // Without a lease, settling makes the counter be recounted.
        if (!(error instanceof QuotaLeaseLost)) throw error;
      });
    await redis.hdel(callsToVoidKey, callId);
  }

  /** Drops the latest scores of a call's organisation. Calls of test keys have none. */
  async invalidateScores({ counter }: VoidableCall): Promise<void> {
    if (counter.bucket === 'live') await this.deps.latest.forget(counter.organisationId);
  }

  /**
   * Voids up to 500 of these calls. Random ones, so that calls that cannot be voided now do not delay the others.
   * @returns the number of voided calls
   * @throws the error of the first that failed; the others are voided
   */
  async sweep(): Promise<number> {
    const calls = await this.some();
    const endMs = performance.now() + maxSweepMs;
    let count = 0;
    await eachAtOnce(calls, maxVoidsAtOnce, async (call) => {
      if (performance.now() > endMs) return;
      await this.void(call);
      count += 1;
    });
    return count;
  }

  private async some(): Promise<VoidableCall[]> {
    const flat = [await this.deps.redis.hrandfield(callsToVoidKey, maxPerSweep, 'WITHVALUES')].flat().map(String);
    const calls: VoidableCall[] = [];
    for (let index = 0; index + 1 < flat.length; index += 2) {
      const [callId = '', text = ''] = flat.slice(index, index + 2);
      const counter = counterOf(text);
      if (counter !== undefined) calls.push({ counter, callId });
    }
    return calls;
  }
}
