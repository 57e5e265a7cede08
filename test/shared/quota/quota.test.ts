import { expect } from 'chai';
import { Redis } from 'ioredis';
import {
  QuotaCallEnded,
  QuotaLeaseLost,
  QuotaTooLate,
  QuotaUnavailable,
  QuotaWouldCrossStop,
} from '../../../shared/quota/commands.js';
import { redisNowMs } from '../../../shared/redis/connect.js';
import { callKey, rebuildLockKey, type UsageCounter, usageKey } from '../../../shared/redis/keys.js';
import { eventually } from '../../support/eventually.js';
import { failureOf } from '../../support/failure-of.js';
import { freshDatabases } from '../../support/service/servers.js';
import { LossyProxy } from './rig/lossy-proxy.js';
import { freshCounter, QuotaRig } from './rig/quota-rig.js';
import { sentCommands } from './rig/sent-commands.js';

const dayMs = 24 * 60 * 60 * 1_000;

describe('Quota', () => {
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

  it('counts a call as leased after reserve, and as used after settle', async () => {
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

  it('frees the records of a released call', async () => {
    await rig.reserve(counter, 'call', 400);
    expect(await rig.quota.release(counter, 'call')).to.equal(true);
    expect(await rig.quota.release(counter, 'call')).to.equal(true);
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: 0, leased: 0 });
  });

  it('returns false from release when the call had been settled', async () => {
    await rig.reserve(counter, 'call', 400);
    await rig.quota.settle(counter, 'call');
    expect(await rig.quota.release(counter, 'call')).to.equal(false);
  });

  it('sends one command for a reserve and one for a settle, after one for its scores', async () => {
    await rig.reserve(counter, 'first', 1);
    const commandsOf = async (work: () => Promise<unknown>) =>
      (await sentCommands(rig.redis, work)).map(([name]) => name);
    const deadlineRedisMs = await rig.deadline();
    const call = { counter, callId: 'second', records: 1, stop: 10, deadlineRedisMs };
    expect(await commandsOf(() => rig.quota.reserve(call))).to.deep.equal(['evalsha']);
    const latest = { modelId: 'mdl_A', version: '1', crmIds: ['L-1'], scores: [50], gaps: [1], epoch: '' };
    const settle = () => rig.quota.settle(counter, 'second', { latest });
    expect(await commandsOf(settle)).to.deep.equal(['eval', 'evalsha']);
    expect(await commandsOf(() => rig.quota.settle(counter, 'second'))).to.deep.equal(['evalsha']);
  });

  it('grants exactly nine of a hundred concurrent calls when nine fit', async () => {
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

  it('never exceeds the stop with concurrent calls of any size', async () => {
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

  it('counts a call once that is sent many times at once', async () => {
    const times = Array.from({ length: 20 });
    await Promise.all(times.map((_, index) => (index % 2 ? rig : other).reserve(counter, 'call', 100)));
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: 0, leased: 100 });
    await Promise.all(times.map((_, index) => (index % 2 ? rig : other).quota.settle(counter, 'call')));
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: 100, leased: 0 });
  });

  it('refuses a reserve after its deadline, and one of an ended call', async () => {
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
    await eventually(async () => expect(await stateOfLate(), 'state').to.equal('released:0'));
    await rig.quota.settle(counter, 'call');
    expect(await failureOf(rig.reserve(counter, 'call', 1))).to.be.instanceOf(QuotaCallEnded);
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: 1, leased: 0 });
  });

  it('refuses to settle a released call', async () => {
    await rig.reserve(counter, 'call', 1);
    await rig.quota.release(counter, 'call');
    expect(await failureOf(rig.quota.settle(counter, 'call'))).to.be.instanceOf(QuotaLeaseLost);
  });

  for (const enableAutoPipelining of [false, true])
    it(`counts a command once that is sent again after a lost reply (pipelined: ${enableAutoPipelining})`, async () => {
      const { port, pathname } = new URL(rig.redisUrl);
      const proxy = await LossyProxy.start(Number(port));
      const db = Number(pathname.slice(1));
      const redis = new Redis(proxy.port, '127.0.0.1', { db, enableAutoPipelining, retryStrategy: () => 1 });
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
        await lossy.quota.activeCounters.mark(counter, call.deadlineRedisMs);
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

  describe('with an unknown counter', () => {
    it('restores it from the ledger once for concurrent calls', async () => {
      rig.ledger.record(counter, 'earlier', 300);
      await Promise.all(
        Array.from({ length: 10 }, (_, index) => (index % 2 ? rig : other).reserve(counter, `call ${index}`, 10)),
      );
      expect(await rig.quota.usage(counter)).to.deep.equal({ used: 300, leased: 100 });
      expect(rig.ledger.snapshots).to.equal(1);
      expect(await rig.redis.pttl(usageKey(counter)), 'TTL beyond its month').to.be.above(62 * dayMs);
    });

    it('throws QuotaUnavailable while the ledger cannot be read, and recovers with it', async () => {
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

    it('throws QuotaTooLate when another process has the lock until the deadline', async () => {
      await rig.redis.set(rebuildLockKey(counter), 'another process', 'PX', 60_000);
      const deadlineRedisMs = (await redisNowMs(rig.redis)) + 60;
      const call = { counter, callId: 'call', records: 1, stop: 10, deadlineRedisMs };
      expect(await failureOf(rig.quota.reserve(call))).to.be.instanceOf(QuotaTooLate);
      await rig.redis.del(rebuildLockKey(counter)); // ends the rebuild, which is still waiting
    });

    it('throws QuotaUnavailable when a rebuild takes longer than its limit', async () => {
      await rig.redis.set(rebuildLockKey(counter), 'another process', 'PX', 60_000);
      const impatient = new QuotaRig(rig.redisUrl, { ledger: rig.ledger, maxRebuildMs: 60 });
      try {
        expect(await failureOf(impatient.quota.usage(counter))).to.be.instanceOf(QuotaUnavailable);
      } finally {
        impatient.close();
      }
    });

    it('takes over from a dead process when its lock has expired', async () => {
      await rig.redis.set(rebuildLockKey(counter), 'a dead process', 'PX', 100);
      expect(await rig.reserve(counter, 'call', 1)).to.include({ used: 0, leased: 1 });
    });

    it('does not restore a sum that was read before Redis was emptied again', async () => {
      let reads = 0;
      rig.ledger.afterRead = async () => {
        reads += 1;
        if (reads > 1) return;
        // After the first read, another process restores the counter and counts a call. Then Redis is emptied again.
        await rig.redis.flushdb();
        await other.reserve(counter, 'between', 50);
        await other.finish(counter, 'between', 50);
        await rig.redis.flushdb();
      };
      expect(await rig.quota.usage(counter)).to.deep.equal({ used: 50, leased: 0 });
    });

    it('marks it as active again, although it was marked just before', async () => {
      await rig.reserve(counter, 'call', 1);
      await rig.redis.flushdb();
      await rig.reserve(counter, 'next call', 1);
      expect(await rig.quota.activeCounters.list()).to.deep.equal([counter]);
    });

    it('restores more recent calls than one batch has', async () => {
      for (let index = 0; index < 2_500; index += 1) rig.ledger.record(counter, `call ${index}`, 2);
      expect(await rig.quota.usage(counter)).to.deep.equal({ used: 5_000, leased: 0 });
      for (const index of [0, 999, 1_000, 2_499])
        expect(await rig.quota.settle(counter, `call ${index}`)).to.deep.equal({ used: 5_000, leased: 0 });
    });
  });
});
