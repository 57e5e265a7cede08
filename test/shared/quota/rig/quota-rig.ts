import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { QuotaLeaseLost } from '../../../../shared/quota/commands.js';
import { memberOf } from '../../../../shared/quota/leases.js';
import { Quota } from '../../../../shared/quota/quota.js';
import { type SweepCounts, sweepLeases } from '../../../../shared/quota/sweep.js';
import { redisNowMs } from '../../../../shared/redis/connect.js';
import { dueCountersKey, leasesKey, redisRunKey, type UsageCounter, usageKey } from '../../../../shared/redis/keys.js';
import { MemoryLedger } from './memory-ledger.js';

/** A lease so long that it only expires when a test ages it. */
export const leaseMs = 3_600_000;

/** A counter of a new organisation. */
export const freshCounter = (): UsageCounter => ({
  organisationId: `org_${randomUUID()}`,
  bucket: 'live',
  month: '2026-02',
});

/** A quota on a real Redis with a ledger in memory. */
export class QuotaRig {
  readonly redis: Redis;
  readonly ledger: MemoryLedger;
  readonly quota: Quota;
  private ageMs = 0;

  constructor(
    readonly redisUrl: string,
    options: {
      readonly redis?: Redis;
      readonly leaseMs?: number;
      readonly ledger?: MemoryLedger;
      readonly maxRebuildMs?: number;
    } = {},
  ) {
    const clock = { now: () => Date.UTC(2026, 1, 10) + this.ageMs };
    this.redis = options.redis ?? new Redis(redisUrl);
    this.ledger = options.ledger ?? new MemoryLedger(clock);
    this.quota = new Quota({
      redis: this.redis,
      ledger: this.ledger,
      leaseMs: options.leaseMs ?? leaseMs,
      clock,
      ...(options.maxRebuildMs === undefined ? {} : { maxRebuildMs: options.maxRebuildMs }),
    });
  }

  close(): void {
    this.redis.disconnect();
  }

  /** A deadline in 10 s, in Redis ms. */
  async deadline(): Promise<number> {
    return (await redisNowMs(this.redis)) + 10_000;
  }

  async reserve(counter: UsageCounter, callId: string, records: number, stop = 1_000) {
    return this.quota.reserve({ counter, callId, records, stop, deadlineRedisMs: await this.deadline() });
  }

  sweep(): Promise<SweepCounts> {
    return sweepLeases({ redis: this.redis, quota: this.quota, ledger: this.ledger });
  }

  /** Makes all counters due, as when the list was lost. For a test that changed what the sweep visits. */
  async sweepAll(): Promise<SweepCounts> {
    await this.redis.del(dueCountersKey);
    return await this.sweep();
  }

  /** Records and settles a call as a gateway does after a reserve, and voids its row when the lease is lost. */
  async finish(counter: UsageCounter, callId: string, records: number): Promise<'answered' | 'refused'> {
    this.ledger.record(counter, callId, records);
    try {
      await this.quota.settle(counter, callId);
      return 'answered';
    } catch (error) {
      if (!(error instanceof QuotaLeaseLost)) throw error;
      this.ledger.voidCall(callId);
      return 'refused';
    }
  }

  /** Makes a counter's leases, visits, call states, recounts and rows older, as if time had passed. */
  async age(counter: UsageCounter, byMs: number): Promise<void> {
    const { redis } = this;
    this.ageMs += byMs;
    // Not its mark: no process forgets when it marked a counter.
    const member = memberOf(counter);
    if ((await redis.zscore(dueCountersKey, member)) !== null) await redis.zincrby(dueCountersKey, -byMs, member);
    const leases = await redis.zrange(leasesKey(counter), 0, '-1');
    await Promise.all(leases.map((callId) => redis.zincrby(leasesKey(counter), -byMs, callId)));
    for (const field of ['counted_at', 'recount_at'])
      if (await redis.hexists(usageKey(counter), field)) await redis.hincrby(usageKey(counter), field, -byMs);
    for (const key of await redis.keys(`{${counter.organisationId}}:call:*`)) {
      const restMs = await redis.pttl(key);
      if (restMs > 0) await redis.pexpire(key, Math.max(restMs - byMs, 0));
    }
    const [run, beganMs] = ((await redis.get(redisRunKey)) ?? '').split(' ');
    if (run && Number(beganMs) > 0) await redis.set(redisRunKey, `${run} ${Number(beganMs) - byMs}`);
  }

  /** Ages and sweeps a counter until all its leases and recounts are done. */
  async settleDown(counter: UsageCounter): Promise<void> {
    await this.quota.usage(counter);
    for (let round = 0; round < 3; round += 1) {
      await this.age(counter, leaseMs);
      await this.sweep();
    }
  }
}
