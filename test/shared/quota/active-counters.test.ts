import { expect } from 'chai';
import { redisNowMs } from '../../../shared/redis/info.js';
import { activeCountersKey, type UsageCounter, usageKey } from '../../../shared/redis/keys.js';
import { freshDatabases } from '../../support/service/servers.js';
import { freshCounter, QuotaRig } from './rig/quota-rig.js';

const minuteMs = 60_000;

describe('the sweep takes a counter off the list', () => {
  let rig: QuotaRig;
  let counter: UsageCounter;

  before(async () => {
    rig = new QuotaRig((await freshDatabases()).redisUrl);
  });
  after(() => rig.close());

  const memberOf = ({ organisationId, bucket, month }: UsageCounter) =>
    `${organisationId} ${bucket} ${month}`;
  const isBusy = async () => (await rig.redis.zscore(activeCountersKey, memberOf(counter))) !== null;
  const noted = async (agoMs: number) =>
    rig.redis.zadd(activeCountersKey, (await redisNowMs(rig.redis)) - agoMs, memberOf(counter));

  beforeEach(async () => {
    await rig.redis.flushall();
    rig.ledger.clear();
    counter = freshCounter();
    await rig.sweep(); // remembers this run of Redis
    await rig.quota.usage(counter);
    await rig.redis.hdel(usageKey(counter), 'recount_at');
  });

  it('when it was idle for ten minutes', async () => {
    await noted(9 * minuteMs);
    await rig.sweep();
    expect(await isBusy()).to.equal(true);
    await noted(10 * minuteMs);
    await rig.sweep();
    expect(await isBusy()).to.equal(false);
  });

  it('but not while it has leases', async () => {
    await rig.reserve(counter, 'call', 1);
    await noted(11 * minuteMs);
    await rig.sweep();
    expect(await isBusy()).to.equal(true);
  });

  it('but not while it waits for a recount', async () => {
    await rig.redis.hset(usageKey(counter), 'recount_at', (await redisNowMs(rig.redis)) + minuteMs);
    await noted(11 * minuteMs);
    await rig.sweep();
    expect(await isBusy()).to.equal(true);
  });

  it('but not when it was noted again since the list was read', async () => {
    await noted(11 * minuteMs);
    const [activeCounters] = await rig.quota.activeCounters.list();
    await noted(0);
    if (activeCounters) await rig.quota.activeCounters.drop(activeCounters);
    expect(await isBusy()).to.equal(true);
    const [again] = await rig.quota.activeCounters.list();
    if (again) await rig.quota.activeCounters.drop(again);
    expect(await isBusy()).to.equal(false);
  });
});
