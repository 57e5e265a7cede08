import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { Counter, Gauge, type Registry } from 'prom-client';
import { type Lane, lanes } from '../../shared/contract/lanes.js';
import { type Backlog, readBacklogs } from '../../shared/messages/backlog.js';
import { laneQueueName } from '../../shared/messages/score-job.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import type { SweepCounts } from '../../shared/quota/sweep.js';
import { partitionPrefix } from '../../shared/redis/keys.js';
import type { BulkPool } from './bulk-pool.js';
import type { WorkerPool } from './pool.js';
import { quarantinedVersions } from './quarantine.js';
import type { WorkerCounts } from './worker-counts.js';

type Counted = 'wantedCount' | 'readyCount' | 'deathCount' | 'counts';

export interface PoolMetricsOptions {
  /** The processes of each lane. */
  readonly pools: Readonly<Record<Exclude<Lane, 'bulk'>, Pick<WorkerPool, Counted>>> & {
    readonly bulk: Pick<BulkPool, Counted>;
  };
  /** Number of partitions. */
  readonly partitions: number;
  /** A connection for commands. */
  readonly redis: Redis;
}

/**
 * Registers the metrics of a pool and its lanes. A metric that Redis cannot answer is left out of a scrape.
 * @returns to be stopped before the connection
 */
export function observePool(registry: Registry, { pools, partitions, redis }: PoolMetricsOptions): Stoppable {
  const registers = [registry];
  const { singles, batches, bulk } = pools;
  const sumOf = (name: keyof WorkerCounts): number =>
    [singles, batches, bulk].reduce((sum, { counts }) => sum + counts[name], 0);
  new Gauge({
    name: 'leadscore_worker_processes',
    help: 'Worker processes of this pool for singles and for batches: configured (wanted), and ready to take jobs.',
    labelNames: ['lane', 'state'],
    registers,
    collect() {
      for (const [lane, { wantedCount, readyCount }] of Object.entries({ singles, batches })) {
        this.set({ lane, state: 'wanted' }, wantedCount);
        this.set({ lane, state: 'ready' }, readyCount);
      }
    },
  });
  new Counter({
    name: 'leadscore_worker_deaths_total',
    help: 'Worker processes of this pool that died and were replaced.',
    registers,
    collect() {
      this.reset();
      this.inc(singles.deathCount + batches.deathCount);
    },
  });
  new Gauge({
    name: 'leadscore_bulk_worker_processes',
    help: 'Worker processes of this pool for bulk jobs: needed now (wanted), and ready to take jobs.',
    labelNames: ['state'],
    registers,
    collect() {
      this.set({ state: 'wanted' }, bulk.wantedCount);
      this.set({ state: 'ready' }, bulk.readyCount);
    },
  });
  new Counter({
    name: 'leadscore_bulk_worker_deaths_total',
    help: 'Worker processes of this pool for bulk jobs that died.',
    registers,
    collect() {
      this.reset();
      this.inc(bulk.deathCount);
    },
  });
  new Counter({
    name: 'leadscore_unreadable_cells_total',
    help: 'Cells of records that were unreadable for the model and count as missing.',
    registers,
    collect() {
      this.reset();
      this.inc(sumOf('unreadable'));
    },
  });
  new Counter({
    name: 'leadscore_unseen_values_total',
    help: 'Values of fields of records that the model has not seen in training.',
    registers,
    collect() {
      this.reset();
      this.inc(sumOf('unseen'));
    },
  });
  new Counter({
    name: 'leadscore_model_loads_total',
    help: 'Models that worker processes of this pool have loaded.',
    registers,
    collect() {
      this.reset();
      this.inc(sumOf('loads'));
    },
  });
  new Counter({
    name: 'leadscore_model_hits_total',
    help: 'Chunks whose model their worker process had loaded, or was loading for another chunk.',
    registers,
    collect() {
      this.reset();
      this.inc(sumOf('hits'));
    },
  });
  const queues = Array.from({ length: partitions }, (_, partition) =>
    lanes.map((lane) => ({ labels: { lane, partition }, queue: laneQueue(lane, partition, redis) })),
  ).flat();
  new Gauge({
    name: 'leadscore_lane_depth',
    help: 'Chunks that wait in Redis for a worker of any pool, by lane and partition.',
    labelNames: ['lane', 'partition'],
    registers,
    async collect() {
      this.reset();
      const read = queues.map(async ({ labels, queue }) => {
        const depth = await queue.getWaitingCount().catch(() => undefined);
        if (depth !== undefined) this.set(labels, depth);
      });
      await Promise.all(read);
    },
  });
  observeBacklogs(registers, redis);
  new Gauge({
    name: 'leadscore_quarantined_versions',
    help: 'Quarantined versions of models, which crashed or hung their workers and are not run.',
    registers,
    async collect() {
      this.reset();
      const versions = await quarantinedVersions(redis).catch(() => undefined);
      if (versions !== undefined) this.set(versions.length);
    },
  });
  return {
    name: 'pool metrics',
    stop: async () => {
      await Promise.all(queues.map(({ queue }) => queue.close()));
    },
  };
}

/** One pool measures the backlogs, and all show the same figures. */
function observeBacklogs(registers: Registry[], redis: Redis): void {
  const figures = [
    {
      name: 'leadscore_backlog_seconds',
      help: 'Seconds that a chunk which arrives now waits for a worker, over all partitions. Scale pools by it.',
      of: (backlog: Backlog) => backlog.backlogSeconds,
    },
    {
      name: 'leadscore_oldest_chunk_seconds',
      help: 'Age of the chunk of a lane that has waited longest, over all partitions.',
      of: (backlog: Backlog) => backlog.oldestChunkSeconds,
    },
  ];
  for (const { name, help, of } of figures)
    new Gauge({
      name,
      help,
      labelNames: ['lane'],
      registers,
      async collect() {
        this.reset();
        const backlogs = await readBacklogs(redis).catch(() => undefined);
        if (backlogs !== undefined) for (const lane of lanes) this.set({ lane }, of(backlogs[lane]));
      },
    });
}

/** Registers the counter of the sweep. Returns the function that counts a sweep. */
export function sweepCounter(registry: Registry): (swept: SweepCounts) => void {
  const ended = new Counter({
    name: 'leadscore_swept_total',
    help: 'Expired leases that the sweep settled or released; counters that it recounted or failed to sweep.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  return (swept) => {
    for (const [outcome, count] of Object.entries(swept)) ended.inc({ outcome }, count);
  };
}

function laneQueue(lane: Lane, partition: number, redis: Redis): Queue {
  // The queue is only read: its settings are those of the gateways.
  const options = { connection: redis, prefix: partitionPrefix(partition), skipMetasUpdate: true };
  const queue = new Queue(laneQueueName(lane), options);
  queue.on('error', () => undefined); // the connection logs its own errors
  return queue;
}
