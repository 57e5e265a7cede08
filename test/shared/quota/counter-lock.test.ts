import { expect } from 'chai';
import { Redis } from 'ioredis';
import { CounterLocks } from '../../../shared/quota/counter-lock.js';
import { rebuildLockKey } from '../../../shared/redis/keys.js';
import { integerReply, luaCommand } from '../../../shared/redis/lua-command.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabases } from '../../support/service/servers.js';
import { freshCounter } from './rig/quota-rig.js';

describe('the lock of a counter', () => {
  const counter = freshCounter();
  const key = rebuildLockKey(counter);
  let redis: Redis;

  beforeEach(async () => {
    redis = new Redis((await freshDatabases()).redisUrl);
  });
  afterEach(() => redis.disconnect());

  it('is one holder’s at a time, and free when it is dropped', async () => {
    const locks = new CounterLocks(redis);
    const lock = await locks.take(counter);
    expect(await redis.get(key)).to.equal(lock?.token);
    expect(await locks.take(counter)).to.equal(undefined);
    await lock?.drop();
    const next = await locks.take(counter);
    expect(next?.token).to.be.a('string').and.not.equal(lock?.token);
    await next?.drop();
  });

  it('is kept for as long as its holder lives', async () => {
    const lock = await new CounterLocks(redis).take(counter);
    const wholeMs = await redis.pttl(key);
    for (let time = 0; time < 2; time += 1) {
      await redis.pexpire(key, wholeMs - 1_000);
      await eventually(async () => expect(await redis.pttl(key)).to.be.above(wholeMs - 500));
    }
    await lock?.drop();
    expect(await redis.exists(key)).to.equal(0);
  });

  it('that was lost is neither ended nor prolonged by whoever had it', async () => {
    const lost = await new CounterLocks(redis).take(counter);
    await redis.set(key, 'another holder', 'PX', 60_000);
    const extend = luaCommand(redis, { file: 'shared/quota/lua/extend-lock.lua', reply: integerReply });
    expect(await extend({ keys: [key], args: [lost?.token ?? '', 120_000] })).to.equal(0);
    await lost?.drop();
    expect(await redis.get(key)).to.equal('another holder');
    expect(await redis.pttl(key)).to.be.within(1, 60_000);
    expect(await extend({ keys: [key], args: ['another holder', 120_000] })).to.equal(1);
    expect(await redis.pttl(key)).to.be.within(60_001, 120_000);
  });
});
