import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { freePort } from '../../../scripts/servers/server-process.js';
import { observePool } from '../../../worker/pool/metrics.js';
import { noCounts, type WorkerCounts } from '../../../worker/pool/worker-counts.js';
import { freshDatabases } from '../../support/service/servers.js';

const counts = (unreadable: number, unseen: number, loads: number, hits: number): WorkerCounts => ({
  unreadable,
  unseen,
  loads,
  hits,
});

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
    const pools = {
      singles: { wantedCount: 3, readyCount: 1, deathCount: 1, counts: counts(1, 1, 3, 40) },
      batches: { wantedCount: 5, readyCount: 4, deathCount: 2, counts: counts(2, 0, 2, 0) },
      bulk: { wantedCount: 2, readyCount: 1, deathCount: 4, counts: counts(5, 6, 0, 5) },
    };
    const metrics = observePool(registry, { pools, partitions: 2, redis });
    const text = await registry.metrics();
    for (const [lane, wanted, ready] of [
      ['singles', 3, 1],
      ['batches', 5, 4],
    ]) {
      expect(text).to.include(`leadscore_worker_processes{lane="${lane}",state="wanted"} ${wanted}`);
      expect(text).to.include(`leadscore_worker_processes{lane="${lane}",state="ready"} ${ready}`);
    }
    expect(text).to.include('leadscore_bulk_worker_processes{state="wanted"} 2');
    expect(text).to.include('leadscore_bulk_worker_processes{state="ready"} 1');
    expect(text).to.include('leadscore_bulk_worker_deaths_total 4').and.include('leadscore_worker_deaths_total 3');
    expect(text).to.include('leadscore_unreadable_cells_total 8').and.include('leadscore_unseen_values_total 7');
    expect(text).to.include('leadscore_model_loads_total 5').and.include('leadscore_model_hits_total 45');
    expect(text).to.include('leadscore_lane_depth{lane="bulk",partition="1"} 0');
    expect(await registry.metrics()).to.include('leadscore_lane_depth{lane="batches",partition="1"} 0');
    expect(listeners()).to.not.deep.equal(before);
    await metrics.stop();
    expect(listeners()).to.deep.equal(before);
    expect(await redis.ping()).to.equal('PONG');
  });

  it('can be stopped while Redis does not answer', async () => {
    const none = { wantedCount: 0, readyCount: 0, deathCount: 0, counts: noCounts };
    const away = new Redis({ port: await freePort(), maxRetriesPerRequest: null });
    away.on('error', () => undefined);
    const metrics = observePool(new Registry(), {
      pools: { singles: none, batches: none, bulk: none },
      partitions: 2,
      redis: away,
    });
    await metrics.stop();
    away.disconnect();
  });
});
