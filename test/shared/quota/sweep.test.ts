import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import type { DueCounter } from '../../../shared/quota/due-counters.js';
import { redisNowMs } from '../../../shared/redis/connect.js';
import {
  activeCountersKey,
  dueCountersKey,
  leasesKey,
  redisRunKey,
  type UsageCounter,
  usageKey,
} from '../../../shared/redis/keys.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabases } from '../../support/service/servers.js';
import { freshCounter, leaseMs, QuotaRig } from './rig/quota-rig.js';

const nothing = { settled: 0, released: 0, recounted: 0, failed: 0 };
const minuteMs = 60_000;

describe('sweepLeases', () => {
  let rig: QuotaRig;
  let counter: UsageCounter;
  const cancelRecount = () => rig.redis.hdel(usageKey(counter), 'recount_at');

  before(async () => {
    rig = new QuotaRig((await freshDatabases()).redisUrl);
  });
  after(() => rig.close());
  beforeEach(async () => {
    await rig.redis.flushdb();
    rig.ledger.clear();
    rig.ledger.beforeRead = async () => undefined;
    rig.ledger.afterRead = async () => undefined;
    counter = freshCounter();
    await rig.sweep(); // stores this run of Redis
  });

  it('leaves open leases alone', async () => {
    await rig.reserve(counter, 'call', 10);
    expect(await rig.sweep()).to.deep.equal(nothing);
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: 0, leased: 10 });
  });

  it('settles an expired lease whose call is in the ledger, and releases the others', async () => {
    await rig.reserve(counter, 'recorded', 10);
    await rig.reserve(counter, 'lost', 20);
    rig.ledger.record(counter, 'recorded', 10);
    await rig.age(counter, leaseMs);
    await rig.reserve(counter, 'open', 40);
    await cancelRecount();
    expect(await rig.sweep()).to.include({ settled: 1, released: 1, failed: 0 });
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: 10, leased: 40 });
    expect(await rig.sweep()).to.include({ settled: 0, released: 0 });
  });

  it('settles a call that was recorded between the read of the ledger and the fence', async () => {
    await rig.reserve(counter, 'call', 10);
    await rig.age(counter, leaseMs);
    await cancelRecount();
    rig.ledger.afterRead = async () => {
      rig.ledger.afterRead = async () => undefined;
      rig.ledger.record(counter, 'call', 10);
    };
    expect(await rig.sweep()).to.deep.equal({ ...nothing, settled: 1 });
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: 10, leased: 0 });
  });

  it("ends leases by Redis's clock", async () => {
    const brief = new QuotaRig(rig.redisUrl, { leaseMs: 2_000, ledger: rig.ledger });
    try {
      await brief.reserve(counter, 'call', 10);
      expect(await brief.sweep()).to.include({ released: 0 });
      const expiresAtMs = Number(await rig.redis.zscore(leasesKey(counter), 'call'));
      while ((await redisNowMs(rig.redis)) <= expiresAtMs) await pause(20);
      expect(await brief.sweep()).to.include({ released: 1 });
      expect(await brief.quota.usage(counter)).to.deep.equal({ used: 0, leased: 0 });
    } finally {
      brief.close();
    }
  });

  it('ends each lease once when several sweeps run at once', async () => {
    const others = [0, 1].map(() => new QuotaRig(rig.redisUrl, { ledger: rig.ledger }));
    try {
      for (let index = 0; index < 40; index += 1) {
        await rig.reserve(counter, `call ${index}`, 10);
        if (index % 2) rig.ledger.record(counter, `call ${index}`, 10);
      }
      await rig.age(counter, leaseMs);
      const counts = await Promise.all([rig, ...others].map((sweeper) => sweeper.sweep()));
      expect(counts.reduce((sum, { settled }) => sum + settled, 0)).to.equal(20);
      expect(counts.reduce((sum, { released }) => sum + released, 0)).to.equal(20);
      expect(await rig.quota.usage(counter)).to.deep.equal({ used: 200, leased: 0 });
    } finally {
      for (const other of others) other.close();
    }
  });

  it('ends more leases than one batch has', async () => {
    const callIds = Array.from({ length: 1_200 }, (_, index) => `call ${index}`);
    await rig.quota.usage(counter);
    await Promise.all(callIds.map((callId) => rig.reserve(counter, callId, 1, 10_000)));
    for (const callId of callIds.slice(0, 700)) rig.ledger.record(counter, callId, 1);
    await rig.age(counter, leaseMs);
    expect(await rig.sweep()).to.include({ settled: 700, released: 500 });
  });

  it('lists expired leases in the order of their expiry', async () => {
    for (const [index, callId] of ['a', 'b', 'c', 'open'].entries()) {
      await rig.reserve(counter, callId, 1);
      if (callId !== 'open') await rig.redis.zadd(leasesKey(counter), 1_000 + index, callId);
    }
    expect(await rig.quota.commands.expiredLeases(counter, 10)).to.deep.equal(['a', 'b', 'c']);
    expect(await rig.quota.commands.expiredLeases(counter, 2)).to.deep.equal(['a', 'b']);
  });

  it('keeps the leases of a counter whose ledger cannot be read, and sweeps the others', async () => {
    const readable = freshCounter();
    for (const one of [counter, readable]) {
      await rig.reserve(one, `call of ${one.organisationId}`, 10);
      await rig.age(one, leaseMs);
      await rig.redis.hdel(usageKey(one), 'recount_at');
    }
    const read = rig.ledger.recordedCalls.bind(rig.ledger);
    rig.ledger.recordedCalls = async (callIds) => {
      if (callIds.includes(`call of ${counter.organisationId}`)) throw new Error('no primary');
      return read(callIds);
    };
    try {
      expect(await rig.sweep()).to.include({ released: 1, failed: 1 });
      expect(await rig.quota.usage(counter)).to.deep.equal({ used: 0, leased: 10 });
    } finally {
      rig.ledger.recordedCalls = read;
    }
    expect(await rig.sweep()).to.include({ released: 1, failed: 0 });
  });

  it('sweeps the other counters while the ledger of one is slow', async () => {
    const others = Array.from({ length: 9 }, freshCounter);
    for (const one of [counter, ...others]) {
      await rig.reserve(one, `call of ${one.organisationId}`, 10);
      await rig.age(one, leaseMs);
      await rig.redis.hdel(usageKey(one), 'recount_at');
    }
    const fence = rig.ledger.fenceCalls.bind(rig.ledger);
    let unblock = (): void => undefined;
    const slow = new Promise<void>((resolve) => {
      unblock = resolve;
    });
    rig.ledger.fenceCalls = async (callIds) => {
      if (callIds.includes(`call of ${counter.organisationId}`)) await slow;
      return fence(callIds);
    };
    const swept = rig.sweep();
    try {
      await eventually(async () => {
        for (const one of others) expect((await rig.quota.usage(one)).leased).to.equal(0);
      });
      expect((await rig.quota.usage(counter)).leased).to.equal(10);
    } finally {
      unblock();
      await swept;
      rig.ledger.fenceCalls = fence;
    }
    expect(await swept).to.include({ released: 10, failed: 0 });
  });

  it('fences a released call, so that it cannot be recorded after its lease', async () => {
    await rig.reserve(counter, 'call', 10);
    await rig.age(counter, leaseMs);
    expect(await rig.sweep()).to.include({ released: 1 });
    expect(() => rig.ledger.record(counter, 'call', 10)).to.throw('fenced');
    await rig.settleDown(counter);
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: 0, leased: 0 });
  });

  describe('recounts a counter', () => {
    it('when a gateway recorded a call after the counter was restored, and then died', async () => {
      await rig.reserve(counter, 'call', 10);
      await rig.redis.flushdb();
      await rig.quota.usage(counter);
      rig.ledger.record(counter, 'call', 10);
      await rig.sweep();
      expect(await rig.quota.usage(counter)).to.deep.equal({ used: 0, leased: 0 });
      await rig.age(counter, leaseMs);
      expect(await rig.sweep()).to.include({ recounted: 1 });
      expect(await rig.quota.usage(counter)).to.deep.equal({ used: 10, leased: 0 });
      expect(await rig.sweep()).to.deep.equal(nothing);
    });

    it('when an open transaction got around the fence and recorded a released call', async () => {
      await rig.reserve(counter, 'call', 10);
      await cancelRecount();
      await rig.age(counter, leaseMs);
      expect(await rig.sweep()).to.include({ released: 1, recounted: 0 });
      rig.ledger.fenced.clear();
      rig.ledger.record(counter, 'call', 10);
      await rig.age(counter, leaseMs);
      expect(await rig.sweep()).to.include({ recounted: 1 });
      expect(await rig.quota.usage(counter)).to.deep.equal({ used: 10, leased: 0 });
    });

    it('and settles its expired leases, when an operator requests it', async () => {
      await rig.reserve(counter, 'call', 10);
      rig.ledger.record(counter, 'call', 10);
      await rig.age(counter, 10 * leaseMs);
      expect(await rig.quota.recount(counter)).to.equal(true);
      expect(await rig.sweep()).to.include({ settled: 0 });
      expect(await rig.quota.usage(counter)).to.deep.equal({ used: 10, leased: 0 });
    });

    it('when a settled call was voided', async () => {
      await rig.reserve(counter, 'call', 10);
      await rig.finish(counter, 'call', 10);
      await cancelRecount();
      rig.ledger.voidCall('call');
      expect(await rig.quota.release(counter, 'call')).to.equal(false);
      await rig.age(counter, leaseMs);
      await rig.sweep();
      expect(await rig.quota.usage(counter)).to.deep.equal({ used: 0, leased: 0 });
    });

    it('when Redis was restarted, at its next visit and a lease after the restart', async () => {
      await rig.reserve(counter, 'counted', 10);
      await rig.finish(counter, 'counted', 10);
      await cancelRecount();
      await rig.redis.hset(usageKey(counter), 'used', 0); // as after a restart without the last second of writes
      await rig.age(counter, minuteMs);
      expect(await rig.sweep()).to.deep.equal(nothing);
      await rig.redis.set(redisRunKey, `another-run ${(await redisNowMs(rig.redis)) - minuteMs}`);
      expect(await rig.sweepAll()).to.include({ recounted: 1 });
      expect(await rig.quota.usage(counter)).to.deep.equal({ used: 10, leased: 0 });
      expect(await rig.sweep()).to.deep.equal(nothing);
      await rig.age(counter, leaseMs);
      expect(await rig.sweep()).to.include({ recounted: 1 });
      expect(await rig.sweep()).to.deep.equal(nothing);
    });

    it('a lease later, and not at once, when it was rebuilt in the millisecond in which a sweep saw the new run', async () => {
      await rig.finish(counter, 'counted', 10);
      await cancelRecount();
      await rig.sweep();
      const [run] = ((await rig.redis.get(redisRunKey)) ?? '').split(' ');
      const runMs = await redisNowMs(rig.redis);
      await rig.redis.hset(usageKey(counter), 'counted_at', runMs);
      await rig.redis.set(redisRunKey, `${run} ${runMs}`);
      expect(await rig.sweepAll()).to.deep.equal(nothing);
      await rig.age(counter, leaseMs);
      expect(await rig.sweep()).to.include({ recounted: 1 });
      expect(await rig.sweep()).to.deep.equal(nothing);
    });

    it('in later sweeps, when more are due for it than one sweep has time for', async function () {
      this.timeout(60_000);
      const counters = Array.from({ length: 80 }, freshCounter);
      for (const one of counters) await rig.quota.usage(one);
      const lost = freshCounter();
      await rig.reserve(lost, 'lost', 10);
      await rig.age(lost, leaseMs);
      for (const one of counters) await rig.redis.hset(usageKey(one), 'recount_at', 1);
      rig.ledger.beforeRead = () => pause(1_000);
      const first = await rig.sweepAll();
      expect(first.released, 'leases come first').to.equal(1);
      expect(first.recounted).to.be.within(16, 64);
      rig.ledger.beforeRead = async () => undefined;
      let recounted = first.recounted;
      await eventually(async () => {
        recounted += (await rig.sweep()).recounted;
        const waiting = counters.map((one) => rig.redis.hexists(usageKey(one), 'recount_at'));
        expect(await Promise.all(waiting)).not.to.include(1);
      }, 20_000);
      expect(recounted - first.recounted, 'each once').to.be.at.most(counters.length - first.recounted + 1);
    });
  });
});

describe('sweepLeases and idle counters', () => {
  let rig: QuotaRig;
  let counter: UsageCounter;

  before(async () => {
    rig = new QuotaRig((await freshDatabases()).redisUrl);
  });
  after(() => rig.close());

  const memberOf = ({ organisationId, bucket, month }: UsageCounter) => `${organisationId} ${bucket} ${month}`;
  const isActive = async () => (await rig.redis.zscore(activeCountersKey, memberOf(counter))) !== null;
  const markedBefore = async (agoMs: number) =>
    rig.redis.zadd(activeCountersKey, (await redisNowMs(rig.redis)) - agoMs, memberOf(counter));

  beforeEach(async () => {
    await rig.redis.flushdb();
    rig.ledger.clear();
    counter = freshCounter();
    await rig.sweep(); // stores this run of Redis
    await rig.quota.usage(counter);
    await rig.redis.hdel(usageKey(counter), 'recount_at');
  });

  it('takes a counter off the list that was idle for ten minutes', async () => {
    await markedBefore(9 * minuteMs);
    await rig.sweepAll();
    expect(await isActive()).to.equal(true);
    await markedBefore(10 * minuteMs);
    await rig.sweepAll();
    expect(await isActive()).to.equal(false);
  });

  it('keeps an idle counter that has leases', async () => {
    await rig.reserve(counter, 'call', 1);
    await markedBefore(11 * minuteMs);
    await rig.sweepAll();
    expect(await isActive()).to.equal(true);
  });

  it('keeps an idle counter that waits for a recount', async () => {
    await rig.redis.hset(usageKey(counter), 'recount_at', (await redisNowMs(rig.redis)) + minuteMs);
    await markedBefore(11 * minuteMs);
    await rig.sweepAll();
    expect(await isActive()).to.equal(true);
  });

  it('keeps a counter that was marked again since it was claimed', async () => {
    await markedBefore(11 * minuteMs);
    const isIdle = true;
    const claimed: DueCounter[] = [];
    for await (const page of rig.quota.dueCounters.claim(await redisNowMs(rig.redis))) claimed.push(...page);
    expect(claimed.map((due) => due.counter)).to.deep.equal([counter]);
    const drop = () => rig.quota.dueCounters.scheduleVisits(claimed.map((due) => ({ ...due, isIdle, atMs: 1 })));
    await markedBefore(10 * minuteMs);
    await drop();
    expect(await isActive()).to.equal(true);
    await markedBefore(11 * minuteMs);
    await rig.redis.zadd(activeCountersKey, Number(claimed[0]?.mark), memberOf(counter));
    await drop();
    expect(await isActive()).to.equal(false);
    expect(await rig.redis.exists(dueCountersKey)).to.equal(0);
  });
});
