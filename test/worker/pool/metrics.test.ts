import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { freePort } from '../../../scripts/servers/server-process.js';
import { observePool } from '../../../worker/pool/metrics.js';
import { freshDatabases } from '../../support/service/servers.js';

/** The events of a connection; a user that has ended listens to none of them. */
const eventNames = ['error', 'close', 'end', 'ready'] as const;

describe('the metrics of a pool', () => {
  let redis: Redis;

  before(async () => {
    redis = new Redis((await freshDatabases()).redisUrl, { maxRetriesPerRequest: null });
    await redis.ping();
  });
  after(() => redis.disconnect());

  const listeners = () => eventNames.map((name) => `${name}: ${redis.listenerCount(name)}`);

  it('remove their listeners from the connection when they are stopped, and leave it open', async () => {
    const before = listeners();
    const registry = new Registry();
    const pool = { readyCount: 1, deathCount: 0, unreadableCount: 0 };
    const metrics = observePool(registry, { pool, workers: 2, redis });
    expect(await registry.metrics()).to.include('leadscore_lane_depth{lane="batches"} 0');
    expect(listeners()).to.not.deep.equal(before);
    await metrics.stop();
    expect(listeners()).to.deep.equal(before);
    expect(await redis.ping()).to.equal('PONG');
  });

  it('can be stopped while Redis does not answer', async () => {
    const away = new Redis({ port: await freePort(), maxRetriesPerRequest: null });
    away.on('error', () => undefined);
    const metrics = observePool(new Registry(), {
      pool: { readyCount: 0, deathCount: 0, unreadableCount: 0 },
      workers: 2,
      redis: away,
    });
    await metrics.stop();
    away.disconnect();
  });
});
