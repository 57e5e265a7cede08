import { availableParallelism } from 'node:os';
import { readWorkerConfig, type WorkerConfig } from '../shared/config/config.js';
import { messageOf } from '../shared/contract/errors.js';
import { createMetrics, startAdminServer } from '../shared/process/admin-server.js';
import { ClockWatch, observeClock } from '../shared/process/clock-watch.js';
import { Lifecycle, readSettings } from '../shared/process/lifecycle.js';
import { createLogger, type Logger } from '../shared/process/logger.js';
import { connectRedis } from '../shared/redis/connect.js';
import { RedisHealth } from '../shared/redis/health.js';
import { observePool, sweepCounter } from './pool/metrics.js';
import { WorkerPool } from './pool/pool.js';
import { endSuspension, strikeCommand, strikesToQuarantine, suspend } from './pool/quarantine.js';
import { startScheduler } from './upkeep/scheduler.js';

/** Until a worker that is stuck has been killed, and a little longer: others may be stuck in the same version. */
const maxSuspensionMs = 8_000;

/* The worker pool: processes that score, the scheduler of upkeep, and a port for operators. */

async function start(config: WorkerConfig, logger: Logger): Promise<void> {
  if (config.redisUrl === undefined || config.mongoUrl === undefined) {
    throw new Error(
      'REDIS_URL and MONGODB_URL must be set; `npm start` runs private servers when they are not',
    );
  }
  const lifecycle = new Lifecycle(logger);
  lifecycle.listenForSignals();
  lifecycle.followParent();
  const metrics = createMetrics();
  const { redisUrl, mongoUrl } = config;
  lifecycle.add(await startScheduler({ ...config, redisUrl, mongoUrl }, logger, sweepCounter(metrics)));
  const redis = connectRedis({ url: redisUrl, name: 'leadscore-pool', kind: 'commands', logger });
  lifecycle.onStop('redis', async () => redis.disconnect());
  const pulse = lifecycle.add(new RedisHealth(redis));
  observeClock(metrics, lifecycle.add(new ClockWatch(redis, logger)));
  const strike = strikeCommand(redis);
  const onDeathOf = (modelKey: string) => {
    strike(modelKey, Date.now()).then(
      (count) =>
        logger.error({ model: modelKey, count, strikesToQuarantine }, 'a worker died while it ran a model'),
      (error: unknown) => logger.error({ model: modelKey, error }, 'a death could not be noted'),
    );
  };
  const onSuspension = (modelKey: string, isSuspended: boolean) => {
    const told = isSuspended
      ? suspend(redis, modelKey, Date.now() + maxSuspensionMs)
      : endSuspension(redis, modelKey);
    told.catch((error: unknown) => logger.warn({ model: modelKey, error }, 'a suspicion could not be told'));
  };
  const pool = lifecycle.add(new WorkerPool({ workers: config.workers, logger, onDeathOf, onSuspension }));
  lifecycle.add(observePool(metrics, { pool, workers: config.workers, redis }));
  lifecycle.add(
    await startAdminServer({
      host: config.host,
      port: config.workerAdminPort,
      registry: metrics,
      readiness: async () => (pool.readyCount > 0 ? pulse.problem : 'no worker process is ready'),
    }),
  );
  await pool.start();
  logger.info({ workers: config.workers }, 'worker pool ready');
  process.send?.({ kind: 'ready' });
}

const config = readSettings('pool', () => readWorkerConfig(undefined, availableParallelism()));
const logger = createLogger(config.logLevel, 'pool');
start(config, logger).catch((error: unknown) => {
  logger.fatal({ error }, `the worker pool could not start: ${messageOf(error)}`);
  process.exit(1);
});
