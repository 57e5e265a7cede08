import { expect } from 'chai';
import { Redis } from 'ioredis';
import { ReplyStream } from '../../../api/dispatch/reply-stream.js';
import { createLogger } from '../../../shared/process/logger.js';
import { replyStreamKey } from '../../../shared/redis/keys.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabases } from '../../support/service/servers.js';

const gatewayId = 'a-gateway';
const inAnHourMs = () => Date.now() + 60 * 60 * 1000;

describe('ReplyStream', () => {
  const connections: Redis[] = [];
  let replies: ReplyStream;
  let redis: Redis;

  before(async () => {
    const { redisUrl } = await freshDatabases();
    const connect = (): Redis => {
      const connection = new Redis(redisUrl, { maxRetriesPerRequest: null, replyMapping: 'legacy' });
      connections.push(connection);
      return connection;
    };
    redis = connect();
    const logger = createLogger('silent', 'test');
    replies = new ReplyStream({ gatewayId, blocking: connect(), commands: redis, logger });
    replies.start();
  });

  after(async () => {
    await replies.stop();
    for (const connection of connections) connection.disconnect();
  });

  const send = (chunk: string, id = '*') =>
    redis.xadd(replyStreamKey(gatewayId), id, 'r', JSON.stringify({ chunk, parts: [] }));

  it('resolves the one call that waits for a reply', async () => {
    const waiting = replies.waitFor('one', 5_000);
    await send('of nobody');
    await send('one');
    expect(await waiting).to.deep.equal({ chunk: 'one', parts: [] });
  });

  it('ends an iteration of the event loop after a long reply', async () => {
    const chunks = ['first', 'second', 'third', 'last'];
    const order: string[] = [];
    const waiting = chunks.map(async (chunk) => {
      await replies.waitFor(chunk, 5_000);
      order.push(chunk);
      if (chunk === 'first') setImmediate(() => order.push('another iteration'));
    });
    // All are in the stream before it is read.
    const commands = redis.multi();
    for (const chunk of chunks)
      commands.xadd(replyStreamKey(gatewayId), '*', 'r', JSON.stringify({ chunk, filler: 'x'.repeat(300_000) }));
    await commands.exec();
    await Promise.all(waiting);
    expect(order.indexOf('another iteration'), order.join()).to.be.within(1, 3);
  });

  it('trims the stream to the last reply after an idle read', async () => {
    const waiting = ['a', 'b', 'c'].map((chunk) => replies.waitFor(chunk, 5_000));
    for (const chunk of ['a', 'b', 'c']) await send(chunk);
    await Promise.all(waiting);
    expect(await redis.xlen(replyStreamKey(gatewayId))).to.be.greaterThan(1);
    await eventually(async () => expect(await redis.xlen(replyStreamKey(gatewayId))).to.equal(1), 5_000);
  });

  it('drops read entries, and the whole stream when it stops', async () => {
    const logger = createLogger('silent', 'test');
    const own = { gatewayId: 'another-gateway', blocking: redis.duplicate(), commands: redis, logger };
    const others = new ReplyStream(own);
    const key = replyStreamKey(own.gatewayId);
    for (let index = 0; index < 200; index += 1) await redis.xadd(key, '*', 'r', '{"chunk":"of nobody"}');
    others.start();
    await eventually(async () => expect(await redis.xlen(key)).to.be.below(64));
    await others.stop();
    expect(await redis.exists(key)).to.equal(0);
  });

  it('reads on when Redis lost the stream and its clock was set back', async () => {
    const before = replies.waitFor('before', 5_000);
    await send('before', `${inAnHourMs()}-0`);
    await before;
    await redis.del(replyStreamKey(gatewayId));
    const after = replies.waitFor('after', 8_000);
    await send('after');
    expect(await after).to.deep.equal({ chunk: 'after', parts: [] });
  });
});
