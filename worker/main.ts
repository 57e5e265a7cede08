import { availableParallelism } from 'node:os';
import { readWorkerConfig, type WorkerConfig } from '../shared/config/config.js';
import { messageOf } from '../shared/contract/errors.js';
import { createMetrics, startAdminServer } from '../shared/process/admin-server.js';
import { ClockWatch, observeClock } from '../shared/process/clock-watch.js';
import { Lifecycle, readSettings } from '../shared/process/lifecycle.js';
import { createLogger, type Logger } from '../shared/process/logger.js';
import { connectRedis } from '../shared/redis/connect.js';
import { RedisHealth } from '../shared/redis/health.js';
import { chunkDeathHandler } from './lanes/chunk-death.js';
import { observePool, sweepCounter } from './pool/metrics.js';
import { poolTimings, WorkerPool } from './pool/pool.js';
import { startScheduler, upkeepTimings } from './upkeep/scheduler.js';

/* The worker pool: the processes that score, the upkeep scheduler, and the admin port. */

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
  const redis = connectRedis({ url: redisUrl, name: 'leadscore-pool', kind: 'commands', logger, minPatienceMs });
  lifecycle.onStop('redis', async () => redis.disconnect());
  const health = lifecycle.add(new RedisHealth(redis, config.timings.redis));
  observeClock(metrics, lifecycle.add(new ClockWatch(redis, logger)));
  const { workers } = config;
  const onChunkDeath = chunkDeathHandler({ redis, logger });
  const pool = lifecycle.add(new WorkerPool({ workers, timings: poolTimings, logger, onChunkDeath }));
  lifecycle.add(observePool(metrics, { pool, workers, redis }));
  lifecycle.add(
    await startAdminServer({
      host: config.host,
      port: config.workerAdminPort,
      registry: metrics,
      readiness: async () => (pool.readyCount > 0 ? health.problem : 'no worker process is ready'),
    }),
  );
  await pool.start();
  logger.info({ workers }, 'worker pool ready');
  process.send?.({ kind: 'ready' });
}

const config = readSettings('pool', () => readWorkerConfig(undefined, availableParallelism()));
const logger = createLogger(config.logLevel, 'pool');
start(config, logger).catch((error: unknown) => {
  logger.fatal({ error }, `the worker pool could not start: ${messageOf(error)}`);
  process.exit(1);
});
