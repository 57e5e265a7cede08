import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { FaultProxy } from '../../../scripts/servers/fault-proxy.js';
import { startRedis } from '../../../scripts/servers/redis/redis-server.js';
import type { LocalServer } from '../../../scripts/servers/server-process.js';
import { createLogger } from '../../../shared/process/logger.js';
import { connectionReady, connectRedis, type Redis } from '../../../shared/redis/connect.js';
import { eventually } from '../../support/eventually.js';

const readOnlyRetryMs = 500;
const foundWithinMs = 10_000;

describe('connectRedis after a failover whose old master lives on', () => {
  let directory: string;
  let servers: LocalServer[];
  /** An address that follows the master. */
  let proxy: FaultProxy;
  let masterPort: number;
  const connections: Redis[] = [];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leadscore-failover-'));
    const start = (name: string) => startRedis({ directory: join(directory, name), appendOnly: false });
    servers = await Promise.all([start('old'), start('new')]);
    masterPort = servers[0]?.port ?? 0;
    proxy = await FaultProxy.start(() => masterPort);
  });
  afterEach(async () => {
    for (const redis of connections.splice(0)) redis.disconnect();
    await proxy.stop();
    await Promise.all(servers.map((server) => server.stop()));
    await rm(directory, { recursive: true, force: true });
  });

  async function connected(port: number, kind: 'commands' | 'blocking', pipelined = false): Promise<Redis> {
    const logger = createLogger('silent', 'test');
    const url = `redis://127.0.0.1:${port}`;
    const redis = connectRedis({ url, name: 'test', kind, logger, pipelined, readOnlyRetryMs });
    connections.push(redis);
    await connectionReady(redis);
    return redis;
  }

  it('reconnects every kind of connection to the new master', async () => {
    const commands = await connected(proxy.port, 'commands');
    const pipelined = await connected(proxy.port, 'commands', true);
    const blocking = await connected(proxy.port, 'blocking');
    const [old, successor] = await Promise.all(servers.map(({ port }) => connected(port, 'commands')));
    masterPort = servers[1]?.port ?? 0;
    await old?.call('REPLICAOF', '127.0.0.1', String(masterPort));

    await eventually(() => commands.set('one', '1'), foundWithinMs);
    await eventually(() => Promise.all([pipelined.set('two', '2'), pipelined.incr('three')]), foundWithinMs);
    await successor?.rpush('list', 'four');
    await eventually(
      async () => expect(await blocking.blpop('list', 1)).to.deep.equal(['list', 'four']),
      foundWithinMs,
    );
    expect(await successor?.mget('one', 'two')).to.deep.equal(['1', '2']);
  });
});
