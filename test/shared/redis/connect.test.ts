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

/** A tenth or so of the production times. */
const patienceMs = 400;
const commandTimeoutMs = 200;
const pings = { pingEveryMs: 100, maxSilenceMs: 300 };
const marginMs = 1_500;
const password = 'hunter2';

describe('connectRedis', () => {
  let proxy: FaultProxy;
  const connections: Redis[] = [];
  /** How many times any of the connections was closed. */
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
      commandTimeoutMs,
      minPatienceMs: patienceMs,
      ...options,
    });
    connections.push(redis);
    redis.on('close', () => {
      closed += 1;
    });
    await connectionReady(redis);
    return redis;
  }

  it('keeps a connection that is idle, or blocked for as long as its commands may block', async function () {
    this.timeout(60_000);
    // A process without a processor for longer than its patience replaces its connections.
    await eventually(async () => {
      closed = 0;
      const idle = await connected({});
      const blocking = await connected({ kind: 'blocking', maxBlockMs: 3 * patienceMs });
      const subscriber = await connected({ kind: 'blocking', maxBlockMs: 0 });
      await subscriber.subscribe('changes');
      expect(await blocking.blpop('nothing', (3 * patienceMs) / 1_000)).to.equal(null);
      await Promise.all([pause(3 * patienceMs), blocking.xread('BLOCK', 100, 'STREAMS', 'none', '0')]);
      expect([idle, blocking, subscriber].map(({ status }) => status)).to.deep.equal(['ready', 'ready', 'ready']);
      expect(closed).to.equal(0);
    }, 45_000);
  });

  it('replaces half-open connections, which RedisHealth reports meanwhile', async function () {
    this.timeout(60_000);
    // A process without a processor misses the moment between the report and the new connection.
    await eventually(async () => {
      const commands = await connected({});
      const blocking = await connected({ kind: 'blocking', maxBlockMs: 1_000 });
      const subscriber = await connected({ kind: 'blocking', maxBlockMs: 0 });
      const received: string[] = [];
      subscriber.on('message', (_channel, text) => received.push(text));
      await subscriber.subscribe('changes');
      const health = new RedisHealth(commands, pings);
      const healthOfSubscriber = new RedisHealth(subscriber, pings);
      try {
        await pause(2 * pings.pingEveryMs);
        expect(health.problem).to.equal(undefined);
        proxy.loseAll();
        const blocked = blocking.blpop('list', 1);
        const failed = await commands.ping().catch((error: Error) => error.message);
        expect(failed).to.equal('Command timed out');
        await eventually(() => expect(health.problem).to.equal('Redis does not answer'), marginMs);
        await eventually(() => expect(health.problem).to.equal(undefined), marginMs);
        expect(await commands.ping()).to.equal('PONG');
        expect(await blocked).to.equal(null);
        await eventually(async () => {
          await commands.publish('changes', 'one');
          expect(received).to.include('one');
        }, marginMs);
      } finally {
        await Promise.all([health.stop(), healthOfSubscriber.stop()]);
      }
    }, 45_000);
  });

  it('waits for an overdue reply for four seconds by default', () => {
    const url = `redis://127.0.0.1:${proxy.port}`;
    const logger = createLogger('silent', 'test');
    const commands = connectRedis({ url, name: 'test', kind: 'commands', logger });
    const blocking = connectRedis({ url, name: 'test', kind: 'blocking', logger });
    connections.push(commands, blocking);
    expect(commands.options).to.include({ commandTimeout: 2_000, socketTimeout: 4_000 });
    expect(blocking.options.socketTimeout).to.equal(14_000);
  });

  it('fails connectionReady with the reason and the setting to check', async function () {
    this.timeout(60_000);
    const { redisUrl } = await freshDatabases();
    const host = new URL(redisUrl).host;
    const control = await connected({});
    await control.call('ACL', 'SETUSER', 'guest', 'on', `>${password}`);
    /** The message of the error, or `connected`. */
    const refusal = async (url: string): Promise<string> => {
      const redis = connectRedis({
        url,
        name: 'test',
        kind: 'commands',
        logger: createLogger('silent', 'test'),
      });
      connections.push(redis);
      return connectionReady(redis, 500).then(
        () => 'connected',
        (error: Error) => error.message,
      );
    };
    const accessDenied = /^Redis denied access: check the user and the password in REDIS_URL \(WRONGPASS /;
    // A busy machine may not try to connect within the time.
    await eventually(async () =>
      expect(await refusal(`redis://guest:not-${password}@${host}`))
        .to.match(accessDenied)
        .and.not.include(password),
    );
    await control.call('ACL', 'DELUSER', 'guest');
    const closedPort = await freePort();
    await eventually(async () =>
      expect(await refusal(`redis://127.0.0.1:${closedPort}`)).to.match(/^Redis did not answer: .*ECONNREFUSED/),
    );
    // The error of a node inside the error of the cluster.
    await eventually(async () =>
      expect(await refusal(`redis-cluster://${host}`)).to.include('cluster support disabled'),
    );
  });

  it('has a connection without a server reported by RedisHealth', async () => {
    const redis = await connected({});
    const health = new RedisHealth(redis);
    expect(health.problem).to.equal(undefined);
    redis.disconnect();
    await eventually(() => expect(health.problem).to.equal('no connection to Redis'));
    await health.stop();
  });
});
