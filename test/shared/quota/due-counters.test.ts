import { expect } from 'chai';
import { Redis } from 'ioredis';
import { memberOf } from '../../../shared/quota/leases.js';
import { redisNowMs } from '../../../shared/redis/connect.js';
import {
  activeCountersKey,
  dueCountersKey,
  leasesKey,
  redisRunKey,
  type UsageCounter,
} from '../../../shared/redis/keys.js';
import { freshDatabases } from '../../support/service/servers.js';
import { freshCounter, QuotaRig } from './rig/quota-rig.js';

const counters = 20_000;
const due = 50;

/** A connection that counts its commands. */
class CountingRedis extends Redis {
  sent = 0;

  override sendCommand(...parameters: Parameters<Redis['sendCommand']>): unknown {
    this.sent += 1;
    return super.sendCommand(...parameters);
  }
}

describe('DueCounters', () => {
  let redis: CountingRedis;
  let rig: QuotaRig;

  before(async () => {
    const { redisUrl } = await freshDatabases();
    redis = new CountingRedis(redisUrl);
    rig = new QuotaRig(redisUrl, { redis });
  });
  after(() => rig.close());
  beforeEach(async () => {
    await redis.flushdb();
    await rig.sweep(); // stores this run of Redis
  });

  it(`takes a few commands for each of ${due} due counters, and none for ${counters} others`, async () => {
    const nowMs = await redisNowMs(redis);
    const quiet = Array.from({ length: counters }, freshCounter).map(memberOf);
    for (const key of [activeCountersKey, dueCountersKey])
      await redis.zadd(key, ...quiet.flatMap((member) => [nowMs + 10_000, member]));
    const expire = async (expired: readonly UsageCounter[]) => {
      for (const counter of expired) {
        await rig.reserve(counter, `call of ${counter.organisationId}`, 5);
        await redis.zadd(leasesKey(counter), 1, `call of ${counter.organisationId}`);
      }
    };
    // A server that does not have the scripts yet gets them with each of the calls in flight.
    await expire([freshCounter()]);
    await rig.sweep();
    await expire(Array.from({ length: due }, freshCounter));
    redis.sent = 0;
    expect(await rig.sweep()).to.deep.equal({ settled: 0, released: due, recounted: 0, failed: 0 });
    expect(redis.sent / due).to.be.below(7);
    redis.sent = 0;
    await rig.sweep();
    expect(redis.sent).to.be.below(6);
  });

  it('visits all of many due counters, and not together again', async () => {
    const nowMs = await redisNowMs(redis);
    const quiet = Array.from({ length: 2_500 }, freshCounter).map(memberOf);
    await redis.zadd(activeCountersKey, ...quiet.flatMap((member) => [nowMs, member]));
    await rig.sweep();
    const { leaseMs } = rig.quota;
    expect(await redis.zcount(dueCountersKey, '-inf', nowMs + 0.75 * leaseMs - 1)).to.equal(0);
    const firstMs = nowMs + 0.875 * leaseMs;
    expect(await redis.zcount(dueCountersKey, '-inf', firstMs), 'spread in time').to.be.within(500, 2_000);
    expect(await redis.zcount(dueCountersKey, (await redisNowMs(redis)) + leaseMs, '+inf')).to.equal(0);
    expect(await redis.zcard(dueCountersKey)).to.equal(2_500);
  });

  it('gives concurrent sweeps different counters, and those of a dead one three seconds later', async () => {
    const nowMs = await redisNowMs(redis);
    const members = Array.from({ length: 1_500 }, freshCounter).map(memberOf);
    await redis.zadd(activeCountersKey, ...members.flatMap((member) => [nowMs, member]));
    const claimed: string[] = [];
    const claimAll = async () => {
      for await (const page of rig.quota.dueCounters.claim(nowMs))
        claimed.push(...page.map(({ counter }) => memberOf(counter)));
    };
    await Promise.all([claimAll(), claimAll()]);
    expect(claimed.sort()).to.deep.equal(members.sort());
    const claims = (await redis.zrange(dueCountersKey, 0, '-1', 'WITHSCORES')).filter((_, index) => index % 2 === 1);
    const afterMs = await redisNowMs(redis);
    for (const claim of claims) expect(Number(claim)).to.be.within(nowMs + 3_000, afterMs + 3_000);
  });

  it('marks all counters when Redis has restarted, because a failover may have lost marks', async () => {
    const counter = freshCounter();
    await rig.reserve(counter, 'call', 5);
    await redis.del(activeCountersKey, dueCountersKey);
    await redis.set(redisRunKey, 'another-run 0');
    await redis.zadd(leasesKey(counter), 1, 'call');
    expect(await rig.sweep()).to.include({ released: 1 });
    await redis.del(activeCountersKey);
    await rig.sweepAll();
    expect(await redis.zcard(activeCountersKey), 'only for a new run').to.equal(0);
  });

  it('marks a counter again whose mark was lost', async () => {
    const counter = freshCounter();
    await rig.reserve(counter, 'call', 5);
    await rig.sweep();
    await redis.del(activeCountersKey);
    await redis.zadd(dueCountersKey, 1, memberOf(counter));
    await rig.sweep();
    expect(await redis.zscore(activeCountersKey, memberOf(counter))).to.be.a('string');
  });
});
