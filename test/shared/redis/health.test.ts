import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { startRedis } from '../../../scripts/servers/redis/redis-server.js';
import type { LocalServer } from '../../../scripts/servers/server-process.js';
import { UnusableServer } from '../../../shared/async/retry.js';
import { machineNowMs } from '../../../shared/async/ticks.js';
import { createLogger } from '../../../shared/process/logger.js';
import { connectionReady, connectRedis, type Redis } from '../../../shared/redis/connect.js';
import { checkRedis, RedisHealth } from '../../../shared/redis/health.js';
import { eventually } from '../../support/eventually.js';
import { failureOf } from '../../support/failure-of.js';

describe('checkRedis', () => {
  let directory: string;
  let server: LocalServer;
  const connections: Redis[] = [];
  let warnings: { readonly fields: unknown; readonly message: string }[];

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leadscore-fit-'));
    server = await startRedis({ directory: join(directory, 'one'), appendOnly: false });
  });
  beforeEach(() => {
    warnings = [];
  });
  afterEach(() => {
    for (const redis of connections.splice(0)) redis.disconnect();
  });
  after(async () => {
    await server?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  async function connected(url: string): Promise<Redis> {
    const logger = createLogger('silent', 'test');
    const redis = connectRedis({ url, name: 'test', kind: 'commands', logger });
    connections.push(redis);
    await connectionReady(redis);
    return redis;
  }
  const check = (redis: Redis) =>
    checkRedis(redis, {
      warn: (fields: unknown, message?: string) => void warnings.push({ fields, message: message ?? '' }),
    });

  it('accepts a master with the policy noeviction without a warning', async () => {
    await check(await connected(server.url));
    expect(warnings).to.deep.equal([]);
  });

  it('warns of a policy that evicts keys, also where CONFIG is forbidden', async () => {
    const redis = await connected(server.url);
    await redis.config('SET', 'maxmemory-policy', 'volatile-lru');
    await redis.call('ACL', 'SETUSER', 'tenant', 'on', '>password', '~*', '&*', '+@all', '-config');
    await check(await connected(server.url.replace('://', '://tenant:password@')));
    expect(warnings).to.have.length(1);
    expect(warnings[0]?.fields).to.deep.equal({ policy: 'volatile-lru' });
    expect(warnings[0]?.message).to.include('set its maxmemory-policy to noeviction');
    await redis.config('SET', 'maxmemory-policy', 'noeviction');
  });

  it('refuses a Redis that forbids INFO, and names the missing permission', async () => {
    const redis = await connected(server.url);
    await redis.call('ACL', 'SETUSER', 'silent', 'on', '>password', '~*', '&*', '+@all', '-info');
    const silent = await connected(server.url.replace('://', '://silent:password@'));
    const refusal = await failureOf(check(silent));
    expect(refusal).to.be.instanceOf(UnusableServer);
    expect(refusal.message).to.include('+info').and.include('NOPERM');
    await redis.call('ACL', 'SETUSER', 'silent', '+info');
    await check(silent);
  });

  it('throws the error of a broken connection, and not UnusableServer', async () => {
    for (const url of [server.url, `${server.url}/3`]) {
      const redis = await connected(url);
      redis.disconnect();
      const failure = await failureOf(check(redis));
      expect(failure.message).to.match(/Connection is closed|isn't writeable/);
      expect(failure).to.not.be.instanceOf(UnusableServer);
    }
  });

  it('refuses a Redis without the named database', async () => {
    await check(await connected(`${server.url}/3`));
    const refusal = await check(await connected(`${server.url}/99`)).catch(String);
    expect(refusal).to.include('REDIS_URL names database 99').and.include('out of range');
  });

  it('refuses a read-only replica and names its master', async () => {
    const replica = await startRedis({
      directory: join(directory, 'replica'),
      appendOnly: false,
      extraArguments: ['--replicaof', '127.0.0.1', String(server.port)],
    });
    try {
      const refusal = await check(await connected(replica.url)).catch((error: unknown) => error);
      expect(refusal).to.be.instanceOf(UnusableServer);
      expect(String(refusal)).to.include(`a read-only replica of 127.0.0.1:${server.port}`);
    } finally {
      await replica.stop();
    }
  });
});

describe('RedisHealth', () => {
  const pingEveryMs = 400;
  let silent: Server;

  before(async () => {
    silent = createServer(() => undefined);
    await once(silent.listen(0, '127.0.0.1'), 'listening');
  });
  after(() => silent.close());

  it('reports a missing connection after one interval, and not at a tick that comes before', async () => {
    // Ticks are multiples of the interval on the clock of the machine.
    await pause(pingEveryMs - (machineNowMs() % pingEveryMs) + pingEveryMs / 2);
    const { port } = silent.address() as AddressInfo;
    const logger = createLogger('silent', 'test');
    const redis = connectRedis({ url: `redis://127.0.0.1:${port}`, name: 'test', kind: 'commands', logger });
    const reports: number[] = [];
    const beganMs = performance.now();
    const failed = () => void reports.push(performance.now() - beganMs);
    const health = new RedisHealth(redis, { pingEveryMs, outage: { failed, answered: () => undefined } });
    try {
      await eventually(() => expect(reports).to.not.deep.equal([]));
      expect(reports[0]).to.be.at.least(pingEveryMs);
    } finally {
      await health.stop();
      redis.disconnect();
    }
  });
});
