import { availableParallelism } from 'node:os';
import { readWorkerConfig, type WorkerConfig } from '../shared/config/config.js';
import { messageOf } from '../shared/contract/errors.js';
import type { Lane } from '../shared/contract/lanes.js';
import { createMetrics, startAdminServer } from '../shared/process/admin-server.js';
import { ClockWatch, observeClock } from '../shared/process/clock-watch.js';
import { Lifecycle, readSettings } from '../shared/process/lifecycle.js';
import { createLogger, type Logger } from '../shared/process/logger.js';
import { ProcessNotes } from '../shared/process/process-notes.js';
import { isBulkDemanded } from '../shared/redis/bulk-demand.js';
import { connectRedis } from '../shared/redis/connect.js';
import { RedisHealth } from '../shared/redis/health.js';
import { connectionName } from '../shared/redis/running-processes.js';
import { WorkerRegister } from '../shared/redis/worker-register.js';
import { chunkDeathHandler } from './lanes/chunk-death.js';
import { BulkPool, bulkPoolTimings } from './pool/bulk-pool.js';
import { observePool, sweepCounter } from './pool/metrics.js';
import { type PoolOptions, poolTimings, WorkerPool } from './pool/pool.js';
import { upkeepTimings } from './upkeep/repeated-jobs.js';
import { startScheduler } from './upkeep/scheduler.js';

/*
 * The worker pool: the processes that score, those of bulk jobs while there are such jobs, the upkeep scheduler, and
 * the admin port.
 */

/** Singles are short. Two processes, so that a model that hangs one does not delay those of the others. */
const singleWorkersFor = (workers: number): number => Math.max(2, Math.ceil(workers / 2));

async function start(config: WorkerConfig, logger: Logger): Promise<void> {
  if (config.redisUrl === undefined || config.mongoUrl === undefined) {
    throw new Error('REDIS_URL and MONGODB_URL must be set. `npm start` runs private servers without them.');
  }
  const lifecycle = new Lifecycle(logger);
  lifecycle.listenForSignals();
  lifecycle.followParent();
  const metrics = createMetrics();
  const { redisUrl, mongoUrl } = config;
  const timings = { ...upkeepTimings, ...config.timings.upkeep };
  const upkeep = { timings, logger, onSwept: sweepCounter(metrics) };
  lifecycle.add(await startScheduler({ ...config, redisUrl, mongoUrl }, upkeep));
  const { minPatienceMs } = config.timings.redis;
  const redis = connectRedis({ url: redisUrl, name: connectionName('pool'), kind: 'commands', logger, minPatienceMs });
  lifecycle.onStop('redis', async () => redis.disconnect());
  const health = lifecycle.add(new RedisHealth(redis, { ...config.timings.redis, outage: logger.outages.Redis }));
  const clock = lifecycle.add(new ClockWatch(redis, logger));
  observeClock(metrics, clock);
  const { workers, bulkWorkers, partitions } = config;
  const ofLane = (lane: Lane): Omit<PoolOptions, 'workers'> => {
    const register = new WorkerRegister(redis, lane);
    const onExit = (id: string) => {
      register
        .remove({ id, partitions })
        .catch((error: unknown) => logger.debug({ id, error }, 'heartbeat not removed'));
    };
    return { lane, timings: poolTimings, logger, onChunkDeath: chunkDeathHandler({ redis, logger }), onExit };
  };
  const singles = new WorkerPool({ ...ofLane('singles'), workers: singleWorkersFor(workers) });
  const batches = new WorkerPool({ ...ofLane('batches'), workers });
  const isDemanded = () => isBulkDemanded(redis);
  const bulk = new BulkPool({ ...ofLane('bulk'), workers: bulkWorkers, isDemanded, demand: bulkPoolTimings });
  const pools = { singles, batches, bulk };
  // At the same time: one after the other would take longer than the process has.
  lifecycle.onStop('worker pools', async () => void (await Promise.all([bulk.stop(), batches.stop(), singles.stop()])));
  lifecycle.add(observePool(metrics, { pools, partitions, redis }));
  const countsOf = ({ wantedCount: wanted, readyCount: ready }: typeof singles | typeof bulk) => ({ wanted, ready });
  const workersNow = () => ({ singles: countsOf(singles), batches: countsOf(batches), bulk: countsOf(bulk) });
  lifecycle.add(new ProcessNotes({ kind: 'pool', redis, config, clock, workers: workersNow }));
  lifecycle.add(
    await startAdminServer({
      host: config.host,
      port: config.workerAdminPort,
      registry: metrics,
      readiness: async () => {
        const idle = Object.entries({ singles, batches }).find(([, { readyCount }]) => readyCount === 0);
        return idle === undefined ? health.problem : `no worker process of ${idle[0]} is ready`;
      },
    }),
  );
  await Promise.all([singles.start(), batches.start()]);
  await bulk.start();
  logger.info({ workers, bulkWorkers }, 'worker pool ready');
  process.send?.({ kind: 'ready' });
}

const config = readSettings('pool', () => readWorkerConfig(undefined, availableParallelism()));
const logger = createLogger(config.logLevel, 'pool');
process.on('unhandledRejection', (error) => logger.error({ error }, 'unhandled rejection'));
start(config, logger).catch((error: unknown) => {
  logger.fatal({ error }, `the worker pool could not start: ${messageOf(error)}`);
  process.exit(1);
});
