import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { FaultProxy } from '../../../scripts/servers/fault-proxy.js';
import { freePort } from '../../../scripts/servers/server-process.js';
import { createLogger } from '../../../shared/process/logger.js';
import { connectionReady, connectRedis, type RedisConnectionOptions } from '../../../shared/redis/connect.js';
import { RedisHealth } from '../../../shared/redis/health.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabases } from '../../support/service/servers.js';

/** A connection is given up after four seconds, or four longer than it may block. */
const patienceMs = 4_000;
const marginMs = 1_500;
const password = 'hunter2';

describe('connections to Redis', () => {
  let proxy: FaultProxy;
  const connections: Redis[] = [];
  /** How often one of them was closed. */
  let closed: number;

  beforeEach(async () => {
    const { redisUrl } = await freshDatabases();
    proxy = await FaultProxy.start(() => Number(new URL(redisUrl).port));
    closed = 0;
  });
  afterEach(async () => {
    for (const redis of connections.splice(0)) redis.disconnect();
    await proxy.stop();
  });

  async function connected(options: Partial<RedisConnectionOptions>): Promise<Redis> {
    const redis = connectRedis({
      url: `redis://127.0.0.1:${proxy.port}`,
      name: 'test',
      kind: 'commands',
      logger: createLogger('silent', 'test'),
      ...options,
    });
    connections.push(redis);
    redis.on('close', () => {
      closed += 1;
    });
    await connectionReady(redis);
    return redis;
  }

  it('are left alone while nothing is asked, or as long as a command may block', async function () {
    this.timeout(30_000);
    const idle = await connected({});
    const blocking = await connected({ kind: 'blocking', maxBlockMs: 2 * patienceMs });
    const subscriber = await connected({ kind: 'blocking', maxBlockMs: 0 });
    await subscriber.subscribe('changes');
    expect(await blocking.blpop('nothing', (2 * patienceMs) / 1_000)).to.equal(null);
    await Promise.all([pause(patienceMs + marginMs), blocking.xread('BLOCK', 100, 'STREAMS', 'none', '0')]);
    expect([idle, blocking, subscriber].map(({ status }) => status)).to.deep.equal([
      'ready',
      'ready',
      'ready',
    ]);
    expect(closed).to.equal(0);
  });

  it('that were lost without a sign are given up for new ones, and a pulse tells of them meanwhile', async function () {
    this.timeout(30_000);
    const commands = await connected({});
    const blocking = await connected({ kind: 'blocking', maxBlockMs: 1_000 });
    const subscriber = await connected({ kind: 'blocking', maxBlockMs: 0 });
    const heard: string[] = [];
    subscriber.on('message', (_channel, text) => heard.push(text));
    await subscriber.subscribe('changes');
    const pulses = [new RedisHealth(commands), new RedisHealth(subscriber)];
    const [pulse] = pulses;
    await pause(1_100);
    expect(pulse?.problem).to.equal(undefined);
    proxy.loseAll();
    const blocked = blocking.blpop('list', 1);
    const failed = await commands.ping().catch((error: Error) => error.message);
    expect(failed).to.equal('Command timed out');
    await eventually(() => expect(pulse?.problem).to.equal('Redis does not answer'), patienceMs);
    await eventually(() => expect(pulse?.problem).to.equal(undefined), patienceMs);
    expect(await commands.ping()).to.equal('PONG');
    expect(await blocked).to.equal(null);
    await eventually(async () => {
      await commands.publish('changes', 'one');
      expect(heard).to.include('one');
    }, patienceMs + marginMs);
    await Promise.all(pulses.map((each) => each.stop()));
  });

  it('that do not come about say why, and what to check', async function () {
    this.timeout(30_000);
    const { redisUrl } = await freshDatabases();
    const host = new URL(redisUrl).host;
    const control = await connected({});
    await control.call('ACL', 'SETUSER', 'guest', 'on', `>${password}`);
    /** What is said in the end. */
    const refusal = async (url: string): Promise<string> => {
      const redis = connectRedis({
        url,
        name: 'test',
        kind: 'commands',
        logger: createLogger('silent', 'test'),
      });
      connections.push(redis);
      return connectionReady(redis, 1_500).then(
        () => 'nothing: it is used',
        (error: Error) => error.message,
      );
    };
    const notLetIn =
      /^Redis did not let this process in: check the user and the password in REDIS_URL \(WRONGPASS /;
    expect(await refusal(`redis://guest:not-${password}@${host}`))
      .to.match(notLetIn)
      .and.not.include(password);
    await control.call('ACL', 'DELUSER', 'guest');
    expect(await refusal(`redis://127.0.0.1:${await freePort()}`)).to.match(
      /^Redis did not answer: .*ECONNREFUSED/,
    );
    // Of a cluster, what its nodes say.
    expect(await refusal(`redis-cluster://${host}`)).to.include('cluster support disabled');
  });

  it('a pulse says when there is none', async () => {
    const redis = await connected({});
    const pulse = new RedisHealth(redis);
    expect(pulse.problem).to.equal(undefined);
    redis.disconnect();
    await eventually(() => expect(pulse.problem).to.equal('no connection to Redis'));
    await pulse.stop();
  });
});
