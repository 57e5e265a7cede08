import { once } from 'node:events';
import { cp, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { RateLimit } from '../../../../api/request/rate-limit.js';
import { startRedis } from '../../../../scripts/servers/redis/redis-server.js';
import type { LocalServer } from '../../../../scripts/servers/server-process.js';
import { QuotaUnavailable } from '../../../../shared/quota/commands.js';
import { redisNowMs } from '../../../../shared/redis/connect.js';
import type { UsageCounter } from '../../../../shared/redis/keys.js';
import { failureOf } from '../../../support/failure-of.js';
import { freeze } from '../../../support/faults/stall.js';
import type { MemoryLedger } from '../rig/memory-ledger.js';
import { freshCounter, leaseMs, QuotaRig } from '../rig/quota-rig.js';

const commandTimeoutMs = 150;

describe('Quota when Redis fails', () => {
  let directory: string;
  let server: LocalServer;
  let rig: QuotaRig;
  let counter: UsageCounter;

  const open = (ledger?: MemoryLedger) => {
    const redis = new Redis(server.url, { commandTimeout: commandTimeoutMs, retryStrategy: () => 5 });
    redis.on('error', () => undefined); // the tests cause errors
    rig = new QuotaRig(server.url, { redis, ...(ledger === undefined ? {} : { ledger }) });
  };
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leadscore-quota-'));
    server = await startRedis({ directory, extraArguments: ['--appendfsync', 'always'] });
    open();
  });
  after(async () => {
    rig.close();
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });
  beforeEach(async () => {
    await rig.redis.flushall();
    rig.ledger.clear();
    counter = freshCounter();
    await rig.reserve(counter, 'held', 10);
  });

  describe('with full memory', () => {
    beforeEach(() => rig.redis.config('SET', 'maxmemory', '1'));
    afterEach(() => rig.redis.config('SET', 'maxmemory', '0'));

    it('refuses a reserve and holds no records', async () => {
      const failure = await failureOf(rig.reserve(counter, 'call', 1));
      expect(failure).to.be.instanceOf(QuotaUnavailable);
      expect(failure)
        .to.have.nested.property('cause.message')
        .that.matches(/maxmemory/);
      expect(await rig.quota.usage(counter)).to.deep.equal({ used: 0, leased: 10 });
    });

    it('settles a call', async () => {
      expect(await rig.quota.settle(counter, 'held')).to.deep.equal({ used: 10, leased: 0 });
      expect(await rig.quota.settle(counter, 'held')).to.deep.equal({ used: 10, leased: 0 });
    });

    it('releases a call, also one that was never held', async () => {
      expect(await rig.quota.release(counter, 'held')).to.equal(true);
      expect(await rig.quota.release(counter, 'never held')).to.equal(true);
      expect(await rig.quota.usage(counter)).to.deep.equal({ used: 0, leased: 0 });
    });

    it('sweeps expired leases', async () => {
      rig.ledger.record(counter, 'held', 10);
      await rig.redis.config('SET', 'maxmemory', '0');
      await rig.age(counter, leaseMs);
      await rig.redis.config('SET', 'maxmemory', '1');
      expect(await rig.sweep()).to.include({ settled: 1 });
      expect((await rig.quota.usage(counter)).used).to.equal(10);
    });

    it('fails the rate limit without using a slot', async () => {
      const rateLimit = new RateLimit(rig.redis);
      const take = (slotId: string) =>
        rateLimit.take({ organisationId: 'org', keyId: 'key', window: 'scoring', rate: 1, slotId });
      expect(await failureOf(take('refused'))).to.be.instanceOf(Error);
      await rig.redis.config('SET', 'maxmemory', '0');
      expect(await take('call')).to.include({ accepted: true });
    });
  });

  describe('while it is frozen', () => {
    /** Freezes Redis until `work` has failed; gives its error. */
    const whileFrozen = async (work: () => Promise<unknown>) => {
      await freeze(server.pid);
      try {
        return await failureOf(work());
      } finally {
        process.kill(server.pid, 'SIGCONT');
      }
    };
    const reserve = (deadlineRedisMs: number) =>
      rig.quota.reserve({ counter, callId: 'call', records: 1, stop: 1_000, deadlineRedisMs });

    it('holds no records for a reserve that Redis runs after the deadline', async () => {
      const deadlineRedisMs = (await redisNowMs(rig.redis)) + commandTimeoutMs / 2;
      expect(await whileFrozen(() => reserve(deadlineRedisMs))).to.be.instanceOf(QuotaUnavailable);
      expect(await rig.quota.usage(counter)).to.deep.equal({ used: 0, leased: 10 });
    });

    it('releases the records of a reserve that Redis runs before the deadline', async () => {
      const deadlineRedisMs = await rig.deadline();
      expect(await whileFrozen(() => reserve(deadlineRedisMs))).to.be.instanceOf(QuotaUnavailable);
      expect(await rig.quota.usage(counter)).to.deep.equal({ used: 0, leased: 10 });
      expect(await failureOf(reserve(deadlineRedisMs))).to.have.property('name', 'QuotaCallEnded');
    });

    it('counts a call once whose settle timed out and is sent again', async () => {
      expect(await whileFrozen(() => rig.quota.settle(counter, 'held'))).to.be.instanceOf(QuotaUnavailable);
      expect(await rig.quota.settle(counter, 'held')).to.deep.equal({ used: 10, leased: 0 });
    });
  });

  it('keeps counters and leases when Redis is killed and restarted with its data', async () => {
    await rig.reserve(counter, 'counted', 5);
    await rig.finish(counter, 'counted', 5);
    const ended = once(server.process, 'exit');
    process.kill(server.pid, 'SIGKILL');
    await ended;
    const { ledger } = rig;
    rig.close();
    server = await startRedis({ directory, extraArguments: ['--appendfsync', 'always'] });
    open(ledger);
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: 5, leased: 10 });
    ledger.record(counter, 'held', 10);
    expect(await rig.quota.settle(counter, 'held')).to.deep.equal({ used: 15, leased: 0 });
  });

  it('recounts a counter before it reserves when Redis restarts with older data', async () => {
    await rig.reserve(counter, 'counted', 5);
    const copy = `${directory}-copy`;
    await cp(directory, copy, { recursive: true });
    await rig.finish(counter, 'counted', 5);
    await rig.finish(counter, 'held', 10);
    await rig.reserve(counter, 'later', 3);
    await rig.finish(counter, 'later', 3);
    const ended = once(server.process, 'exit');
    process.kill(server.pid, 'SIGKILL');
    await ended;
    await rm(directory, { recursive: true });
    await rename(copy, directory);
    const { ledger } = rig;
    rig.close();
    server = await startRedis({ directory, extraArguments: ['--appendfsync', 'always'] });
    open(ledger);
    // Two calls of the ledger have leases again. `used` and `leased` together still count every call once.
    expect(await failureOf(rig.reserve(counter, 'beyond', 3, 20))).to.include({
      name: 'QuotaWouldCrossStop',
      used: 3,
      leased: 15,
    });
    expect(await rig.quota.settle(counter, 'held')).to.deep.equal({ used: 13, leased: 5 });
    expect(await rig.quota.settle(counter, 'counted')).to.deep.equal({ used: 18, leased: 0 });
    expect(await rig.reserve(counter, 'within', 2, 20)).to.include({ used: 18, leased: 2 });
  });
});
