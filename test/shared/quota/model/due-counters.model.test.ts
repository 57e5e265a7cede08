import { expect } from 'chai';
import fc from 'fast-check';
import type { NextVisit } from '../../../../shared/quota/due-counters.js';
import { memberOf } from '../../../../shared/quota/leases.js';
import { redisNowMs } from '../../../../shared/redis/connect.js';
import {
  activeCountersKey,
  dueCountersKey,
  leasesKey,
  type UsageCounter,
  usageKey,
} from '../../../../shared/redis/keys.js';
import { freshDatabases } from '../../../support/service/servers.js';
import { runsOfTier } from '../../../support/tier.js';
import { freshCounter, QuotaRig } from '../rig/quota-rig.js';

const leaseMs = 600_000; // far longer than a test takes, and as idle as a counter may be
const claimMs = 3_000;

type Step =
  | { readonly kind: 'reserve' | 'die'; readonly gateway: number }
  | {
      readonly kind: 'settle all' | 'sweep' | 'die in a sweep' | 'begin slow sweep' | 'end slow sweep' | 'lose visits';
    }
  | { readonly kind: 'pass'; readonly ms: number };

const only = (kind: Exclude<Step['kind'], 'reserve' | 'die' | 'pass'>) => fc.constant<Step>({ kind });
const ofGateway = (kind: 'reserve' | 'die') => fc.nat({ max: 1 }).map((gateway): Step => ({ kind, gateway }));
const passes = fc.constantFrom(1_000, 31_000, 59_000, 61_000, leaseMs / 2, leaseMs, 2 * leaseMs);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: ofGateway('reserve') },
  { weight: 4, arbitrary: only('settle all') },
  { weight: 5, arbitrary: only('sweep') },
  { weight: 4, arbitrary: passes.map((ms): Step => ({ kind: 'pass', ms })) },
  ofGateway('die'),
  only('die in a sweep'),
  only('begin slow sweep'),
  only('end slow sweep'),
  only('lose visits'),
);

describe('DueCounters against forgetting', () => {
  let rig: QuotaRig;
  let redisUrl: string;

  before(async () => {
    ({ redisUrl } = await freshDatabases());
    rig = new QuotaRig(redisUrl, { leaseMs });
  });
  after(() => rig.close());

  /** Visits of a slow sweep that it has not stored yet. */
  let held: NextVisit[];
  let gateways: QuotaRig[];
  let open: { readonly callId: string; readonly gateway: QuotaRig }[];
  let counter: UsageCounter;
  let calls = 0;

  const newGateway = () => new QuotaRig(redisUrl, { redis: rig.redis, leaseMs, ledger: rig.ledger });

  /** Lets time pass for all that is in Redis, in gateways and in a slow sweep. */
  async function pass(ms: number): Promise<void> {
    const { redis } = rig;
    for (const key of [activeCountersKey, dueCountersKey, leasesKey(counter)])
      for (const member of await redis.zrange(key, 0, '-1')) await redis.zincrby(key, -ms, member);
    for (const { quota } of gateways) {
      const { markedAtMs } = quota.activeCounters as unknown as { markedAtMs: Map<string, number> };
      for (const [member, atMs] of markedAtMs) markedAtMs.set(member, atMs - ms);
    }
    held = held.map((visit) => ({ ...visit, atMs: visit.atMs - ms, mark: String(Number(visit.mark) - ms) }));
  }

  async function take(next: Step): Promise<void> {
    const { dueCounters } = rig.quota;
    if (next.kind === 'pass') return pass(next.ms);
    if (next.kind === 'sweep') {
      expect(await rig.sweep()).to.include({ failed: 0 });
      const nowMs = await redisNowMs(rig.redis);
      const claimedMs = Number((await rig.redis.zscore(dueCountersKey, memberOf(counter))) ?? 0);
      const isClaimed = claimedMs > nowMs && claimedMs <= nowMs + claimMs;
      if (!isClaimed) expect(await rig.redis.zcount(leasesKey(counter), '-inf', nowMs), 'expired').to.equal(0);
    }
    if (next.kind === 'die in a sweep') for await (const _ of dueCounters.claim(await redisNowMs(rig.redis)));
    if (next.kind === 'begin slow sweep') {
      const store = dueCounters.scheduleVisits;
      dueCounters.scheduleVisits = async (visits) => {
        held.push(...visits);
      };
      await rig.sweep();
      dueCounters.scheduleVisits = store;
    }
    if (next.kind === 'end slow sweep') await dueCounters.scheduleVisits(held.splice(0));
    if (next.kind === 'lose visits') await rig.redis.del(dueCountersKey);
    if (next.kind === 'settle all')
      for (const { gateway, callId } of open.splice(0)) await gateway.quota.release(counter, callId);
    if (next.kind === 'reserve' || next.kind === 'die') {
      const gateway = gateways[next.gateway] ?? rig;
      if (next.kind === 'die') {
        open = open.filter((call) => call.gateway !== gateway);
        gateways[next.gateway] = newGateway();
        return;
      }
      calls += 1;
      await gateway.reserve(counter, `call ${calls}`, 1, 1_000_000);
      open.push({ callId: `call ${calls}`, gateway });
    }
  }

  it('visits a counter before any of its leases is late, whatever sweeps and gateways die or are slow', async function () {
    this.timeout(60_000);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }), async (steps) => {
        await rig.redis.flushdb();
        rig.ledger.clear();
        [held, open, counter] = [[], [], freshCounter()];
        gateways = [newGateway(), newGateway()];
        await rig.sweep();
        for (const next of steps) {
          await take(next);
          await rig.redis.hdel(usageKey(counter), 'recount_at'); // which would keep the counter on the lists
          const [expiry] = (await rig.redis.zrange(leasesKey(counter), 0, '0', 'WITHSCORES')).slice(1);
          if (expiry === undefined) continue;
          const [mark, visit] = await Promise.all(
            [activeCountersKey, dueCountersKey].map((key) => rig.redis.zscore(key, memberOf(counter))),
          );
          expect(mark, 'a counter with a lease is marked').to.be.a('string');
          const latestMs = Math.max(Number(expiry), (await redisNowMs(rig.redis)) + claimMs);
          if (visit !== null) expect(Number(visit), 'its visit is not late').to.be.at.most(latestMs);
        }
      }),
      { numRuns: runsOfTier(50, 150) },
    );
  });
});
