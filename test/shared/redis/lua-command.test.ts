import { once } from 'node:events';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { sendAtOnce } from '../../../shared/redis/lua-command.js';
import { busyScript } from '../../support/faults/stall.js';
import { freshDatabases } from '../../support/service/servers.js';

describe('sendAtOnce', () => {
  let redisUrl: string;
  let redis: Redis;

  before(async () => {
    ({ redisUrl } = await freshDatabases());
  });
  beforeEach(async () => {
    redis = new Redis(redisUrl, { enableAutoPipelining: true });
    await once(redis, 'ready');
  });
  afterEach(() => redis.disconnect());

  it('sends commands in order, and before those that auto-pipelining holds back', async () => {
    const slow = redis.eval(busyScript, 0);
    await new Promise(setImmediate); // now it is in flight, and the next automatic pipeline waits for its reply
    await Promise.all([
      slow,
      redis.rpush('order', 'held back'),
      ...['first', 'second', 'third'].map((item) => sendAtOnce(redis, 'rpush', ['order', item])),
    ]);
    expect(await redis.lrange('order', 0, '-1')).to.deep.equal(['first', 'second', 'third', 'held back']);
  });

  it('sends the commands of one tick in one write, and uncorks the connection', async () => {
    const writes: number[] = [];
    const { stream } = redis;
    const { _writev: writeTogether } = stream;
    stream._writev = (chunks, callback) => {
      writes.push(chunks.length);
      writeTogether?.call(stream, chunks, callback);
    };
    const replies = ['a', 'b', 'c'].map((text) => sendAtOnce(redis, 'echo', [text]));
    expect(await Promise.all(replies)).to.deep.equal(['a', 'b', 'c']);
    expect(writes).to.deep.equal([3]);
    expect(stream.writableCorked).to.equal(0);
    expect(await sendAtOnce(redis, 'echo', ['alone'])).to.equal('alone');
    expect(await redis.echo('afterwards')).to.equal('afterwards');
  });

  it('rejects each command with its own error', async () => {
    const [bad, good] = await Promise.allSettled([
      sendAtOnce(redis, 'incrby', ['number', 'x']),
      sendAtOnce(redis, 'incrby', ['number', 2]),
    ]);
    expect(bad)
      .to.have.nested.property('reason.message')
      .that.matches(/not an integer/);
    expect(good).to.deep.equal({ status: 'fulfilled', value: 2 });
  });

  it('rejects on a connection that was never made or has ended', async () => {
    const never = new Redis(redisUrl, { lazyConnect: true, enableOfflineQueue: false });
    redis.disconnect();
    await once(redis, 'end');
    for (const gone of [never, redis]) {
      const outcome = await sendAtOnce(gone, 'ping', []).catch((error: unknown) => error);
      expect(outcome).to.be.instanceOf(Error);
    }
    never.disconnect();
  });
});
