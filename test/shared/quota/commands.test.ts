import { expect } from 'chai';
import { Redis } from 'ioredis';
import { type QuotaCommands, quotaCommands } from '../../../shared/quota/commands.js';
import type { RecordedCall } from '../../../shared/quota/ledger-view.js';
import { redisNowMs } from '../../../shared/redis/connect.js';
import {
  callKey,
  latestScoresKey,
  leasesKey,
  rebuildLockKey,
  type UsageCounter,
  usageKey,
} from '../../../shared/redis/keys.js';
import { freshDatabases } from '../../support/service/servers.js';
import { freshCounter } from './rig/quota-rig.js';

const leaseMs = 30_000;
const keepMs = 70 * 24 * 3_600_000;
const lockToken = 'a token';

describe('quotaCommands', () => {
  let redis: Redis;
  let commands: QuotaCommands;
  let counter: UsageCounter;

  before(async () => {
    redis = new Redis((await freshDatabases()).redisUrl);
    commands = quotaCommands(redis);
  });
  after(() => redis.disconnect());
  beforeEach(async () => {
    counter = freshCounter();
    expect(await restore({ records: 0 })).to.deep.equal({ code: 1, used: 0, leased: 0 });
  });

  const restore = async (options: { records?: number; calls?: RecordedCall[]; token?: string } = {}) => {
    await redis.set(rebuildLockKey(counter), lockToken, 'NX');
    return commands.restore({ counter, token: lockToken, leaseMs, keepMs, calls: [], ...options });
  };
  const reserve = async (callId: string, records: number, { stop = 1_000, inMs = 10_000 } = {}) => {
    const deadlineRedisMs = (await redisNowMs(redis)) + inMs;
    return commands.reserve({ counter, callId, records, stop, leaseMs, deadlineRedisMs });
  };
  const settle = (callId: string) => commands.settle({ counter, callId, leaseMs });
  const release = (callId: string) => commands.release({ counter, callId, leaseMs });
  const state = (callId: string) => redis.get(callKey(counter.organisationId, callId));
  const stateTtlMs = (callId: string) => redis.pttl(callKey(counter.organisationId, callId));
  const recountAt = () => redis.hget(usageKey(counter), 'recount_at');
  const forgetCounter = () => redis.del(usageKey(counter));

  describe('reserve', () => {
    it('1: holds the records under a lease, and the call without a TTL', async () => {
      const beforeMs = await redisNowMs(redis);
      expect(await reserve('call', 400)).to.deep.equal({ code: 1, used: 0, leased: 400 });
      const expiresAtMs = Number(await redis.zscore(leasesKey(counter), 'call'));
      expect(expiresAtMs).to.be.within(beforeMs + leaseMs, (await redisNowMs(redis)) + leaseMs);
      expect(await state('call')).to.equal('held:400');
      expect(await stateTtlMs('call')).to.equal(-1);
    });

    it('2: finds the reservation of the same call', async () => {
      await reserve('call', 400);
      expect(await reserve('call', 400)).to.deep.equal({ code: 2, used: 0, leased: 400 });
    });

    it('-1: refuses a call that would cross the stop, and accepts one that reaches it exactly', async () => {
      await reserve('used', 500);
      await settle('used');
      await reserve('held', 300);
      expect(await reserve('too many', 201)).to.deep.equal({ code: -1, used: 500, leased: 300 });
      expect(await state('too many')).to.equal(null);
      expect(await reserve('just enough', 200)).to.deep.equal({ code: 1, used: 500, leased: 500 });
    });

    it('-2: holds no records while the counter is unknown', async () => {
      await forgetCounter();
      expect(await reserve('call', 1)).to.deep.equal({ code: -2, used: 0, leased: 0 });
      expect(await redis.exists(usageKey(counter), leasesKey(counter))).to.equal(0);
    });

    it('-3: holds no records after the deadline', async () => {
      expect(await reserve('call', 1, { inMs: -1 })).to.deep.equal({ code: -3, used: 0, leased: 0 });
      expect(await state('call')).to.equal(null);
    });

    it('-4: refuses a call that was settled or released', async () => {
      await reserve('settled', 10);
      await settle('settled');
      await reserve('released', 20);
      await release('released');
      expect(await reserve('settled', 10)).to.deep.equal({ code: -4, used: 10, leased: 0 });
      expect(await reserve('released', 20)).to.deep.equal({ code: -4, used: 10, leased: 0 });
    });
  });

  describe('settle', () => {
    it('1: converts the lease to usage, and keeps the state of the call for two leases', async () => {
      await reserve('call', 400);
      expect(await settle('call')).to.deep.equal({ code: 1, used: 400, leased: 0 });
      expect(await redis.exists(leasesKey(counter))).to.equal(0);
      expect(await state('call')).to.equal('settled:400');
      expect(await stateTtlMs('call')).to.be.within(1.5 * leaseMs, 2 * leaseMs);
    });

    it('2: counts a call once that is settled twice', async () => {
      await reserve('call', 400);
      await settle('call');
      expect(await settle('call')).to.deep.equal({ code: 2, used: 400, leased: 0 });
    });

    it('-2: changes no key while the counter is unknown', async () => {
      await reserve('call', 400);
      await forgetCounter();
      expect(await settle('call')).to.deep.equal({ code: -2, used: 0, leased: 0 });
      expect(await state('call')).to.equal('held:400');
      expect(await redis.exists(usageKey(counter))).to.equal(0);
    });

    it('-5: does not count a released call, and requests a recount a lease later', async () => {
      await reserve('call', 400);
      await release('call');
      await redis.hdel(usageKey(counter), 'recount_at');
      const nowMs = await redisNowMs(redis);
      expect(await settle('call')).to.deep.equal({ code: -5, used: 0, leased: 0 });
      expect(Number(await recountAt())).to.be.within(nowMs + leaseMs, (await redisNowMs(redis)) + leaseMs);
    });

    it('-6: does not count a call without a lease, and requests a recount a lease later', async () => {
      await redis.hdel(usageKey(counter), 'recount_at');
      const nowMs = await redisNowMs(redis);
      expect(await settle('call')).to.deep.equal({ code: -6, used: 0, leased: 0 });
      expect(await settle('call')).to.deep.equal({ code: -6, used: 0, leased: 0 });
      expect(Number(await recountAt())).to.be.within(nowMs + leaseMs, (await redisNowMs(redis)) + leaseMs);
    });

    it('-6: removes a lease whose call is unknown, so that no sweep finds it again', async () => {
      await reserve('call', 400);
      await redis.del(callKey(counter.organisationId, 'call'));
      expect(await settle('call')).to.include({ code: -6 });
      expect(await redis.exists(leasesKey(counter))).to.equal(0);
    });

    it('rejects a settled call whose scores cannot be noted, and no other call of the batch', async () => {
      await reserve('scored', 400);
      await reserve('other', 50);
      await reserve('released', 20);
      await release('released');
      await redis.set(latestScoresKey(counter.organisationId), 'no hash');
      const latest = { modelId: 'mdl_A', version: '1', crmIds: ['L-1'], scores: [50], gaps: [1], epoch: 'epoch' };
      const [scored, ...others] = await Promise.allSettled([
        commands.settle({ counter, callId: 'scored', leaseMs, latest }),
        settle('other'),
        commands.settle({ counter, callId: 'released', leaseMs, latest }),
      ]);
      expect(scored)
        .to.have.nested.property('reason.cause.message')
        .that.matches(/WRONGTYPE/);
      expect(others.map((settled) => 'value' in settled && settled.value)).to.deep.equal([
        { code: 1, used: 450, leased: 0 },
        { code: -5, used: 450, leased: 0 },
      ]);
      expect(await settle('scored')).to.deep.equal({ code: 2, used: 450, leased: 0 });
    });
  });

  describe('release', () => {
    it('1: frees the records, and keeps the state of the call for two leases', async () => {
      await reserve('call', 400);
      expect(await release('call')).to.deep.equal({ code: 1, used: 0, leased: 0 });
      expect(await redis.exists(leasesKey(counter))).to.equal(0);
      expect(await state('call')).to.equal('released:400');
      expect(await stateTtlMs('call')).to.be.within(1.5 * leaseMs, 2 * leaseMs);
    });

    it('2: frees the records once of a call that is released twice', async () => {
      await reserve('other', 100);
      await reserve('call', 400);
      await release('call');
      expect(await release('call')).to.deep.equal({ code: 2, used: 0, leased: 100 });
    });

    it('-6: changes no counter for a call that was never held, and refuses a reserve of it later', async () => {
      await reserve('other', 100);
      expect(await release('call')).to.deep.equal({ code: -6, used: 0, leased: 100 });
      expect(await reserve('call', 400)).to.deep.equal({ code: -4, used: 0, leased: 100 });
    });

    it('-7: keeps a settled call counted, and requests a recount', async () => {
      await reserve('call', 400);
      await settle('call');
      await redis.hdel(usageKey(counter), 'recount_at');
      expect(await release('call')).to.deep.equal({ code: -7, used: 400, leased: 0 });
      expect(await settle('call')).to.deep.equal({ code: 2, used: 400, leased: 0 });
      expect(await recountAt()).to.be.a('string');
    });

    it('-6: does not create an unknown counter', async () => {
      await reserve('call', 400);
      await forgetCounter();
      expect(await release('call')).to.deep.equal({ code: -6, used: 0, leased: 0 });
      expect(await redis.exists(usageKey(counter))).to.equal(0);
      const mayBeRecorded = { counter, callId: 'other call', leaseMs, recountLater: true };
      expect(await commands.release(mayBeRecorded)).to.deep.equal({ code: -6, used: 0, leased: 0 });
      expect(await redis.exists(usageKey(counter))).to.equal(0);
    });
  });

  describe('restore', () => {
    beforeEach(async () => {
      await redis.del(usageKey(counter), rebuildLockKey(counter));
    });

    it('1: sets recent calls to settled in batches, then sets the counter and drops the lock', async () => {
      expect(await restore({ calls: [{ callId: 'a', records: 7 }] })).to.deep.equal({
        code: 1,
        used: 0,
        leased: 0,
      });
      expect(await redis.exists(usageKey(counter))).to.equal(0);
      expect(
        await restore({
          records: 507,
          calls: [
            { callId: 'c', records: 4 },
            { callId: 'b', records: 9 },
          ],
        }),
      ).to.deep.equal({
        code: 1,
        used: 507,
        leased: 0,
      });
      expect(await settle('a')).to.deep.equal({ code: 2, used: 507, leased: 0 });
      expect(await settle('b')).to.deep.equal({ code: 2, used: 507, leased: 0 });
      expect([await state('a'), await state('b')]).to.deep.equal(['settled:7', 'settled:9']);
      expect(await stateTtlMs('a')).to.be.within(1.5 * leaseMs, 2 * leaseMs);
      expect(await redis.exists(rebuildLockKey(counter))).to.equal(0);
      expect(await redis.pttl(usageKey(counter))).to.be.within(keepMs - leaseMs, keepMs);
      expect(await recountAt()).to.be.a('string');
    });

    it('2: never changes an existing counter', async () => {
      await restore({ records: 100 });
      await reserve('call', 50);
      expect(await restore({ records: 7, calls: [{ callId: 'call', records: 50 }] })).to.deep.equal({
        code: 2,
        used: 100,
        leased: 50,
      });
      expect(await state('call')).to.equal('held:50');
    });

    it('-8: restores nothing for a holder that has lost the lock', async () => {
      const calls = [{ callId: 'call', records: 50 }];
      expect(await restore({ records: 7, calls, token: 'another token' })).to.deep.equal({
        code: -8,
        used: 0,
        leased: 0,
      });
      expect(await redis.exists(usageKey(counter))).to.equal(0);
      expect(await state('call')).to.equal(null);
    });

    it('1: drops leases that outlived their counter', async () => {
      await restore({ records: 0 });
      await reserve('recorded', 50);
      await reserve('under way', 30);
      await reserve('failing', 20);
      await forgetCounter();
      await restore({ records: 50, calls: [{ callId: 'recorded', records: 50 }] });
      expect(await redis.exists(leasesKey(counter))).to.equal(0);
      expect(await settle('recorded')).to.deep.equal({ code: 2, used: 50, leased: 0 });
      expect(await settle('under way')).to.deep.equal({ code: -6, used: 50, leased: 0 });
      expect(await release('failing'), 'no records held').to.deep.equal({
        code: -6,
        used: 50,
        leased: 0,
      });
    });
  });

  it('runs every script again after SCRIPT FLUSH', async () => {
    const flush = () => redis.script('FLUSH');
    await flush();
    expect((await reserve('call', 5)).code).to.equal(1);
    await flush();
    expect((await settle('call')).code).to.equal(1);
    await flush();
    expect((await release('call')).code).to.equal(-7);
    await flush();
    expect(await commands.expiredLeases(counter, 1)).to.deep.equal([]);
    await flush();
    expect((await restore({ records: 1 })).code).to.equal(2);
  });
});
