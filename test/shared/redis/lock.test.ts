import { expect } from 'chai';
import { Redis } from 'ioredis';
import { clearStuckLock, Locks } from '../../../shared/redis/lock.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabases } from '../../support/service/servers.js';

const key = 'a lock';
const ttlMs = 3_000;

describe('Locks', () => {
  let redis: Redis;
  let locks: Locks;

  beforeEach(async () => {
    redis = new Redis((await freshDatabases()).redisUrl);
    locks = new Locks(redis);
  });
  afterEach(() => redis.disconnect());

  it('gives a lock to one holder at a time, and again when it is dropped', async () => {
    const lock = await locks.take(key, { ttlMs });
    expect(await redis.get(key)).to.equal(lock?.token);
    expect(await redis.pttl(key)).to.be.within(2_000, ttlMs);
    expect(await locks.take(key, { ttlMs })).to.equal(undefined);
    await lock?.drop();
    const next = await new Locks(redis).take(key, { ttlMs });
    expect(next?.token).to.be.a('string').and.not.equal(lock?.token);
  });

  it('gives a lock again when its TTL has expired', async () => {
    await locks.take(key, { ttlMs: 50 });
    await eventually(async () => expect(await locks.take(key, { ttlMs })).to.have.property('token'));
  });

  it('renews a lock on request, until it is dropped', async () => {
    const lock = await locks.take(key, { ttlMs: 600, isRenewed: true }); // every 200 ms
    for (let time = 0; time < 2; time += 1) {
      await redis.pexpire(key, 60_000);
      await eventually(async () => expect(await redis.pttl(key)).to.be.within(1, 600));
    }
    await lock?.drop();
    expect(await redis.exists(key)).to.equal(0);
  });

  it('neither drops nor renews a lock that another holder has now', async () => {
    const lost = await locks.take(key, { ttlMs: 150, isRenewed: true }); // every 50 ms
    await redis.set(key, 'another holder', 'PX', 60_000);
    const { calls: before } = await changes();
    await eventually(async () => expect((await changes()).calls).to.be.above(before));
    await lost?.drop();
    expect(await redis.get(key)).to.equal('another holder');
    expect(await redis.pttl(key)).to.be.within(30_000, 60_000);
  });

  it('does not fail where Redis cannot drop a lock', async () => {
    const lock = await locks.take(key, { ttlMs });
    redis.disconnect();
    await lock?.drop();
  });

  it('deletes a lock whose TTL exceeds what it was set with, and no other', async () => {
    await redis.set(key, 'a holder', 'PX', ttlMs);
    await clearStuckLock(redis, key, ttlMs);
    expect(await redis.get(key)).to.equal('a holder');
    await redis.set(key, 'a holder', 'PX', ttlMs + 60_000);
    await clearStuckLock(redis, key, ttlMs);
    expect(await redis.exists(key)).to.equal(0);
  });

  /** The scripts that Redis has run. */
  async function changes(): Promise<{ calls: number }> {
    const [, calls = '0'] = /cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats')) ?? [];
    return { calls: Number(calls) };
  }
});
