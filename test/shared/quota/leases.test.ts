import { expect } from 'chai';
import { QuotaUnavailable } from '../../../shared/quota/commands.js';
import { leaseMsOf, recentMs } from '../../../shared/quota/leases.js';
import { redisNowMs } from '../../../shared/redis/connect.js';
import { activeCountersKey, leasesKey, type UsageCounter, usageKey } from '../../../shared/redis/keys.js';
import { failureOf } from '../../support/failure-of.js';
import { freshDatabases } from '../../support/service/servers.js';
import { freshCounter, QuotaRig } from './rig/quota-rig.js';

describe('lease lengths', () => {
  it('leaseMsOf gives three deadlines of the slower endpoint', () => {
    expect(leaseMsOf({ requestTimeoutMs: 10_000, webhookTimeoutMs: 8_000 })).to.equal(30_000);
    expect(leaseMsOf({ requestTimeoutMs: 5_000, webhookTimeoutMs: 8_000 })).to.equal(24_000);
  });

  it('recentMs gives two leases', () => {
    expect(recentMs(30_000)).to.equal(60_000);
  });
});

describe('ActiveCounters', () => {
  let rig: QuotaRig;
  let counter: UsageCounter;

  before(async () => {
    const { redisUrl } = await freshDatabases();
    rig = new QuotaRig(redisUrl);
  });
  after(() => rig.close());
  beforeEach(() => {
    counter = freshCounter();
  });

  const scoreOf = () =>
    rig.redis.zscore(activeCountersKey, `${counter.organisationId} ${counter.bucket} ${counter.month}`);

  it('marks a counter at its first reserve, and again after a minute', async () => {
    const nowMs = await redisNowMs(rig.redis);
    const reserveAt = (callId: string, deadlineRedisMs: number) =>
      rig.quota.reserve({ counter, callId, records: 1, stop: 10, deadlineRedisMs });
    await rig.quota.usage(counter);
    await reserveAt('a', nowMs + 100_000);
    expect(await scoreOf()).to.equal(String(nowMs + 100_000));
    await reserveAt('b', nowMs + 159_999);
    expect(await scoreOf()).to.equal(String(nowMs + 100_000));
    await reserveAt('c', nowMs + 160_000);
    expect(await scoreOf()).to.equal(String(nowMs + 160_000));
  });

  it('keeps the later mark of another process', async () => {
    const nowMs = await redisNowMs(rig.redis);
    const other = new QuotaRig(rig.redisUrl, { ledger: rig.ledger });
    await other.quota.activeCounters.mark(counter, nowMs + 5_000);
    other.close();
    await rig.quota.activeCounters.mark(counter, nowMs);
    expect(await scoreOf()).to.equal(String(nowMs + 5_000));
  });

  it('holds no records for a call whose counter could not be marked', async () => {
    await rig.quota.usage(counter);
    await rig.redis.set(activeCountersKey, 'not a sorted set');
    const deadlineRedisMs = (await redisNowMs(rig.redis)) + 100_000;
    const call = { counter, callId: 'call', records: 1, stop: 10, deadlineRedisMs };
    expect(await failureOf(rig.quota.reserve(call))).to.be.instanceOf(QuotaUnavailable);
    await rig.redis.del(activeCountersKey);
    expect(await rig.redis.exists(leasesKey(counter))).to.equal(0);
    expect(await rig.redis.hget(usageKey(counter), 'leased')).to.equal('0');
    await rig.quota.reserve({ ...call, callId: 'next' });
    expect(await scoreOf(), 'marked by the next call').to.equal(String(deadlineRedisMs));
  });
});
