import { expect } from 'chai';
import { Redis } from 'ioredis';
import {
  QuotaCallEnded,
  QuotaLeaseLost,
  QuotaTooLate,
  QuotaUnavailable,
  QuotaWouldCrossStop,
} from '../../../shared/quota/codes.js';
import { redisNowMs } from '../../../shared/redis/info.js';
import {
  activeCountersKey,
  callKey,
  leasesKey,
  rebuildLockKey,
  type UsageCounter,
  usageKey,
} from '../../../shared/redis/keys.js';
import { eventually } from '../../support/eventually.js';
import { failureOf } from '../../support/failure-of.js';
import { freshDatabases } from '../../support/service/servers.js';
import { LossyProxy } from './rig/lossy-proxy.js';
import { freshCounter, QuotaRig } from './rig/quota-rig.js';

const dayMs = 24 * 60 * 60 * 1_000;

describe('quota', () => {
  let rig: QuotaRig;
  let other: QuotaRig;
  let counter: UsageCounter;

  before(async () => {
    const { redisUrl } = await freshDatabases();
    rig = new QuotaRig(redisUrl);
    other = new QuotaRig(redisUrl, { ledger: rig.ledger });
  });
  after(() => {
    rig.close();
    other.close();
  });
  beforeEach(() => {
    counter = freshCounter();
    rig.ledger.clear();
    rig.ledger.snapshots = 0;
    rig.ledger.beforeRead = async () => undefined;
    rig.ledger.afterRead = async () => undefined;
  });

  it('counts a call: held, then used', async () => {
    expect(await rig.reserve(counter, 'call', 400)).to.deep.equal({
      counter,
      callId: 'call',
      records: 400,
      used: 0,
      leased: 400,
    });
    expect(await rig.quota.settle(counter, 'call')).to.deep.equal({ used: 400, leased: 0 });
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: 400, leased: 0 });
  });

  it('gives back what is released', async () => {
    await rig.reserve(counter, 'call', 400);
    expect(await rig.quota.release(counter, 'call')).to.equal(true);
    expect(await rig.quota.release(counter, 'call')).to.equal(true);
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: 0, leased: 0 });
  });

  it('says so when a released call had been settled', async () => {
    await rig.reserve(counter, 'call', 400);
    await rig.quota.settle(counter, 'call');
    expect(await rig.quota.release(counter, 'call')).to.equal(false);
  });

  it('takes one round trip for a reserve, and for a settle', async () => {
    await rig.reserve(counter, 'first', 1);
    const commandsOf = async (work: () => Promise<unknown>) => {
      const sent: string[] = [];
      const monitor = await rig.redis.monitor();
      const marked = new Promise<void>((resolve) => {
        monitor.on('monitor', (_time: string, args: string[], source: string) => {
          if (args[0] === 'echo') resolve();
          else if (source !== 'lua') sent.push(String(args[0]).toLowerCase());
        });
      });
      await work();
      await rig.redis.echo('end');
      await marked;
      monitor.disconnect();
      return sent;
    };
    const deadlineRedisMs = await rig.deadline();
    const call = { counter, callId: 'second', records: 1, stop: 10, deadlineRedisMs };
    expect(await commandsOf(() => rig.quota.reserve(call))).to.deep.equal(['evalsha']);
    expect(await commandsOf(() => rig.quota.settle(counter, 'second'))).to.deep.equal(['evalsha']);
  });

  it('grants exactly nine of a hundred calls at once when nine fit', async () => {
    await rig.reserve(counter, 'earlier', 100);
    await rig.quota.settle(counter, 'earlier');
    const calls = Array.from({ length: 100 }, (_, index) =>
      (index % 2 ? rig : other).reserve(counter, `call ${index}`, 100, 1_000).then(
        () => 'granted',
        (error) => error,
      ),
    );
    const outcomes = await Promise.all(calls);
    const refused = outcomes.filter((outcome) => outcome instanceof QuotaWouldCrossStop);
    expect(outcomes.filter((outcome) => outcome === 'granted')).to.have.length(9);
    expect(refused).to.have.length(91);
    expect(refused[90]).to.include({ used: 100, leased: 900 });
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: 100, leased: 900 });
  });

  it('never passes the stop, whatever sizes are asked for at once', async () => {
    const sizes = Array.from({ length: 200 }, (_, index) => 1 + ((index * 7919) % 97));
    const granted = await Promise.all(
      sizes.map((records, index) =>
        (index % 2 ? rig : other).reserve(counter, `call ${index}`, records, 1_000).then(
          ({ used, leased }) => {
            expect(used + leased).to.be.at.most(1_000);
            return records;
          },
          () => 0,
        ),
      ),
    );
    const held = granted.reduce((sum, records) => sum + records, 0);
    expect((await rig.quota.usage(counter)).leased).to.equal(held);
    expect(held).to.be.within(1_000 - 97, 1_000);
  });

  it('takes the same call, sent many times at once, as one', async () => {
    const times = Array.from({ length: 20 });
    await Promise.all(times.map((_, index) => (index % 2 ? rig : other).reserve(counter, 'call', 100)));
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: 0, leased: 100 });
    await Promise.all(times.map((_, index) => (index % 2 ? rig : other).quota.settle(counter, 'call')));
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: 100, leased: 0 });
  });

  it('refuses a reserve after its deadline, and one for a call that has ended', async () => {
    await rig.reserve(counter, 'call', 1);
    const late = {
      counter,
      callId: 'late',
      records: 1,
      stop: 10,
      deadlineRedisMs: (await redisNowMs(rig.redis)) - 1,
    };
    expect(await failureOf(rig.quota.reserve(late))).to.be.instanceOf(QuotaTooLate);
    const stateOfLate = () => rig.redis.get(callKey(counter.organisationId, late.callId));
    await eventually(async () => expect(await stateOfLate(), 'spent').to.equal('released:0'));
    await rig.quota.settle(counter, 'call');
    expect(await failureOf(rig.reserve(counter, 'call', 1))).to.be.instanceOf(QuotaCallEnded);
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: 1, leased: 0 });
  });

  it('cannot settle what was released', async () => {
    await rig.reserve(counter, 'call', 1);
    await rig.quota.release(counter, 'call');
    expect(await failureOf(rig.quota.settle(counter, 'call'))).to.be.instanceOf(QuotaLeaseLost);
  });

  for (const enableAutoPipelining of [false, true])
    it(`counts a command once when its reply is lost and it is sent again (pipelined: ${enableAutoPipelining})`, async () => {
      const proxy = await LossyProxy.start(Number(new URL(rig.redisUrl).port));
      const redis = new Redis(proxy.port, '127.0.0.1', { enableAutoPipelining, retryStrategy: () => 1 });
      redis.on('error', () => undefined); // the cut connections
      const lossy = new QuotaRig(rig.redisUrl, { redis, ledger: rig.ledger });
      try {
        await rig.reserve(counter, 'earlier', 5);
        const call = {
          counter,
          callId: 'call',
          records: 100,
          stop: 1_000,
          deadlineRedisMs: await rig.deadline(),
        };
        await lossy.quota.activeCounters.note(counter, call.deadlineRedisMs);
        proxy.loseNextReply();
        expect(await lossy.quota.reserve(call)).to.include({ used: 0, leased: 105 });
        proxy.loseNextReply();
        expect(await lossy.quota.settle(counter, 'call')).to.deep.equal({ used: 100, leased: 5 });
        proxy.loseNextReply();
        expect(await lossy.quota.release(counter, 'earlier')).to.equal(true);
        expect(await rig.quota.usage(counter)).to.deep.equal({ used: 100, leased: 0 });
        expect(proxy.lost).to.equal(3);
      } finally {
        lossy.close();
        await proxy.stop();
      }
    });

  describe('with a counter that Redis does not know', () => {
    it('restores it from the ledger once, for all who ask at once', async () => {
      rig.ledger.record(counter, 'earlier', 300);
      await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          (index % 2 ? rig : other).reserve(counter, `call ${index}`, 10),
        ),
      );
      expect(await rig.quota.usage(counter)).to.deep.equal({ used: 300, leased: 100 });
      expect(rig.ledger.snapshots).to.equal(1);
      expect(await rig.redis.pttl(usageKey(counter)), 'longer than its month').to.be.above(62 * dayMs);
    });

    it('fails closed while the ledger cannot be read, and recovers with it', async () => {
      rig.ledger.beforeRead = async () => {
        throw new Error('no primary');
      };
      const failure = await failureOf(rig.reserve(counter, 'call', 1));
      expect(failure).to.be.instanceOf(QuotaUnavailable);
      expect(failure).to.have.nested.property('cause.message', 'no primary');
      expect(await failureOf(rig.quota.usage(counter))).to.be.instanceOf(QuotaUnavailable);
      rig.ledger.beforeRead = async () => undefined;
      expect(await rig.reserve(counter, 'next call', 1)).to.include({ used: 0, leased: 1 });
    });

    it('gives up waiting for another holder at the deadline', async () => {
      await rig.redis.set(rebuildLockKey(counter), 'another process', 'PX', 60_000);
      const deadlineRedisMs = (await redisNowMs(rig.redis)) + 60;
      const call = { counter, callId: 'call', records: 1, stop: 10, deadlineRedisMs };
      expect(await failureOf(rig.quota.reserve(call))).to.be.instanceOf(QuotaTooLate);
      await rig.redis.del(rebuildLockKey(counter)); // lets the rebuild, which goes on, end
    });

    it('takes over from a holder that died, once its lock has run out', async () => {
      await rig.redis.set(rebuildLockKey(counter), 'a dead process', 'PX', 100);
      expect(await rig.reserve(counter, 'call', 1)).to.include({ used: 0, leased: 1 });
    });

    it('restores nothing from a sum that was read before Redis was emptied again', async () => {
      let reads = 0;
      rig.ledger.afterRead = async () => {
        reads += 1;
        if (reads > 1) return;
        // Another process restores the counter, a call is counted, and Redis is emptied: all behind the first reader.
        await rig.redis.flushall();
        await other.reserve(counter, 'between', 50);
        await other.finish(counter, 'between', 50);
        await rig.redis.flushall();
      };
      expect(await rig.quota.usage(counter)).to.deep.equal({ used: 50, leased: 0 });
    });

    it('is put on the list of busy counters again, though it was noted just before', async () => {
      await rig.reserve(counter, 'call', 1);
      await rig.redis.flushall();
      await rig.reserve(counter, 'next call', 1);
      const activeCounters = (await rig.quota.activeCounters.list()).map((entry) => entry.counter);
      expect(activeCounters).to.deep.equal([counter]);
    });

    it('restores from as many recent calls as there are', async () => {
      for (let index = 0; index < 2_500; index += 1) rig.ledger.record(counter, `call ${index}`, 2);
      expect(await rig.quota.usage(counter)).to.deep.equal({ used: 5_000, leased: 0 });
      for (const index of [0, 999, 1_000, 2_499])
        expect(await rig.quota.settle(counter, `call ${index}`)).to.deep.equal({ used: 5_000, leased: 0 });
    });
  });

  describe('the list of busy counters', () => {
    const scoreOf = () =>
      rig.redis.zscore(activeCountersKey, `${counter.organisationId} ${counter.bucket} ${counter.month}`);

    it('has a counter before anything is held, and is written to once a minute', async () => {
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

    it('never makes a counter look older than another process has noted it', async () => {
      const nowMs = await redisNowMs(rig.redis);
      await other.quota.activeCounters.note(counter, nowMs + 5_000);
      await rig.quota.activeCounters.note(counter, nowMs);
      expect(await scoreOf()).to.equal(String(nowMs + 5_000));
    });

    it('holds nothing for a call whose counter could not be noted', async () => {
      await rig.quota.usage(counter);
      await rig.redis.set(activeCountersKey, 'not a sorted set');
      const deadlineRedisMs = (await redisNowMs(rig.redis)) + 100_000;
      const call = { counter, callId: 'call', records: 1, stop: 10, deadlineRedisMs };
      expect(await failureOf(rig.quota.reserve(call))).to.be.instanceOf(QuotaUnavailable);
      await rig.redis.del(activeCountersKey);
      expect(await rig.redis.exists(leasesKey(counter))).to.equal(0);
      expect(await rig.redis.hget(usageKey(counter), 'leased')).to.equal('0');
      await rig.quota.reserve({ ...call, callId: 'next' });
      expect(await scoreOf(), 'noted with the next call').to.equal(String(deadlineRedisMs));
    });
  });
});
