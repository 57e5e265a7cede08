import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { nodeOfKey, type RedisCluster, startRedisCluster } from '../../scripts/servers/redis/redis-cluster.js';
import { readWorkerConfig } from '../../shared/config/config.js';
import { evictUnderPressure } from '../../shared/latest-scores/eviction.js';
import { createLogger } from '../../shared/process/logger.js';
import { CallVoids } from '../../shared/quota/voids.js';
import { clusterAddressOf, connectionReady, connectRedis, mastersOf, type Redis } from '../../shared/redis/connect.js';
import { checkRedis } from '../../shared/redis/health.js';
import {
  activeCountersKey,
  callsToVoidKey,
  leasesKey,
  redisRunKey,
  type UsageCounter,
  usageKey,
} from '../../shared/redis/keys.js';
import { freshCounter, QuotaRig } from '../shared/quota/rig/quota-rig.js';
import { eventually } from '../support/eventually.js';
import { startTimeoutMs } from '../support/service/service.js';

describe('the address of a Redis Cluster', () => {
  it('names one node or several, with or without user, password and TLS', () => {
    const read = [
      ['redis-cluster://a', { nodes: [{ host: 'a', port: 6379 }], tls: false }],
      [
        'redis-cluster://a:7000,b:7001/',
        {
          nodes: [
            { host: 'a', port: 7000 },
            { host: 'b', port: 7001 },
          ],
          tls: false,
        },
      ],
      [
        'rediss-cluster://me:p%40ss@10.0.0.1:7000,[::1]:7001',
        {
          nodes: [
            { host: '10.0.0.1', port: 7000 },
            { host: '::1', port: 7001 },
          ],
          username: 'me',
          password: 'p@ss',
          tls: true,
        },
      ],
      ['redis-cluster://:secret@a', { nodes: [{ host: 'a', port: 6379 }], password: 'secret', tls: false }],
    ] as const;
    for (const [url, address] of read) {
      expect(clusterAddressOf(url), url).to.deep.equal(address);
      expect(readWorkerConfig({ REDIS_URL: url }).redisUrl).to.equal(url);
    }
    expect(clusterAddressOf('redis://a:6379')).to.equal(undefined);
  });

  it('is refused if a node has no name or an impossible port', () => {
    for (const url of ['redis-cluster://', 'redis-cluster://a,,b', 'redis-cluster://a:70000', 'redis-cluster://a:b'])
      expect(() => clusterAddressOf(url), url).to.throw('redis-cluster://host:port,host:port');
  });
});

describe('the quota on a Redis Cluster', () => {
  let directory: string;
  let cluster: RedisCluster;
  let redis: Redis;
  let rig: QuotaRig;
  let counters: UsageCounter[];

  before(async function () {
    this.timeout(startTimeoutMs);
    directory = await mkdtemp(join(tmpdir(), 'leadscore-cluster-'));
    cluster = await startRedisCluster({ directory });
    const logger = createLogger('silent', 'test');
    redis = connectRedis({ url: cluster.url, name: 'test', kind: 'commands', logger, pipelined: true });
    await connectionReady(redis);
    rig = new QuotaRig('', { redis });
    counters = Array.from({ length: 30 }, freshCounter);
  });
  after(async () => {
    rig?.close();
    await cluster?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it('counts on every node, also within one iteration of the event loop', async () => {
    await Promise.all(counters.map((counter, index) => rig.reserve(counter, `call ${index}`, 10)));
    await Promise.all(counters.map((counter, index) => rig.finish(counter, `call ${index}`, 10)));
    for (const counter of counters) expect(await rig.quota.usage(counter)).to.deep.equal({ used: 10, leased: 0 });
    const masters = mastersOf(redis);
    expect(masters).to.have.length(3);
    for (const master of masters) {
      const kept = await master.keys(usageKey({ ...(counters[0] as UsageCounter), organisationId: '*' }));
      expect(kept.length, 'counters on the node').to.be.above(0);
    }
  });

  it('gets a warning if one of its nodes evicts keys, and is refused under the address of one node', async () => {
    const warnings: unknown[] = [];
    const logger = { warn: (fields: unknown) => void warnings.push(fields) };
    await checkRedis(redis, logger);
    expect(warnings).to.deep.equal([]);
    const setPolicy = (policy: string) => mastersOf(redis)[1]?.config('SET', 'maxmemory-policy', policy);
    await setPolicy('allkeys-lru');
    await checkRedis(redis, logger).finally(() => setPolicy('noeviction'));
    expect(warnings).to.deep.equal([{ policy: 'allkeys-lru' }]);
    const url = cluster.nodes[0]?.url ?? '';
    const one = connectRedis({ url, name: 'test', kind: 'commands', logger: createLogger('silent', 'test') });
    await connectionReady(one);
    const refusal = await checkRedis(one, logger).catch(String);
    one.disconnect();
    expect(refusal).to.include('write it as redis-cluster://');
  });

  it('is swept on all nodes, without a recount while no node has restarted', async () => {
    const lost = counters.slice(0, 6);
    for (const counter of lost) await rig.reserve(counter, 'lost', 5);
    for (const counter of counters) await redis.hdel(usageKey(counter), 'recount_at');
    await rig.sweep();
    for (const counter of lost) await redis.zadd(`{${counter.organisationId}}:leases:live:2026-02`, 1, 'lost');
    expect(await rig.sweepAll()).to.deep.equal({ settled: 0, released: lost.length, recounted: 0, failed: 0 });
    for (const counter of lost) await redis.hdel(usageKey(counter), 'recount_at');
    for (let time = 0; time < 3; time += 1) expect(await rig.sweepAll()).to.include({ recounted: 0, failed: 0 });
  });

  it('rebuilds counters from the ledger after a node has restarted empty', async function () {
    this.timeout(startTimeoutMs);
    await cluster.restart(0);
    await eventually(async () => {
      for (const counter of counters) expect(await rig.quota.usage(counter)).to.deep.equal({ used: 10, leased: 0 });
    }, 20_000);
    // A counter that was rebuilt in the millisecond in which the sweep sees the restart needs no recount yet.
    await pause(5);
    let recounted = 0;
    // A sweep begins no recount after two seconds.
    await eventually(async () => {
      recounted += (await rig.sweepAll()).recounted;
      expect(recounted, 'also counters on the other nodes').to.be.at.least(counters.length);
    }, 20_000);
    expect(recounted, 'each once').to.equal(counters.length);
    expect(await rig.sweepAll()).to.include({ recounted: 0, failed: 0 });
  });

  it('is swept on the other nodes while one does not answer', async function () {
    this.timeout(2 * startTimeoutMs);
    for (const master of mastersOf(redis)) await master.config('SET', 'cluster-require-full-coverage', 'no');
    const nodeOf = (counter: UsageCounter) => nodeOfKey(cluster, redis, usageKey(counter));
    const needed = await Promise.all([activeCountersKey, redisRunKey].map((key) => nodeOfKey(cluster, redis, key)));
    const frozen = cluster.nodes.find((node) => !needed.includes(node));
    if (frozen === undefined) throw new Error('the keys of the sweep are on all nodes');
    const lost: UsageCounter[] = [];
    for (const counter of counters) {
      await rig.reserve(counter, 'abandoned', 5);
      await redis.zadd(leasesKey(counter), 1, 'abandoned');
      if ((await nodeOf(counter)) === frozen) lost.push(counter);
    }
    const voided: string[] = [];
    const voids = new CallVoids({
      redis,
      quota: rig.quota,
      latest: { forget: async () => undefined },
      voidInLedger: async ({ callId }) => Boolean(voided.push(callId)),
    });
    for (const counter of counters)
      await voids.add({ counter, callId: `${lost.includes(counter) ? 'kept' : 'gone'} ${counter.organisationId}` });
    frozen.process.kill('SIGSTOP');
    try {
      const [evicted, swept] = await Promise.all([evictUnderPressure(redis), rig.sweepAll()]);
      expect(evicted).to.equal(0);
      // A sweep takes the calls in random order, and begins none after three seconds.
      await eventually(async () => {
        await voids.sweep().catch(() => undefined);
        const toVoid = Object.keys(await redis.hgetall(callsToVoidKey));
        expect(toVoid.map((callId) => callId.slice(0, 4))).to.deep.equal(lost.map(() => 'kept'));
      }, 20_000);
      expect(swept).to.include({ released: counters.length - lost.length, failed: lost.length });
    } finally {
      frozen.process.kill('SIGCONT');
    }
    await redis.del(callsToVoidKey);
    await eventually(async () => expect(await rig.sweep()).to.include({ failed: 0 }), 20_000);
    for (const counter of counters) expect(await rig.quota.usage(counter)).to.deep.equal({ used: 10, leased: 0 });
  });
});
