import { availableParallelism } from 'node:os';
import { createMetrics, startAdminServer } from '../shared/admin-server.js';
import { ClockWatch, observeClock } from '../shared/clock-watch.js';
import { readWorkerConfig, type WorkerConfig } from '../shared/config.js';
import { messageOf } from '../shared/errors.js';
import { Lifecycle } from '../shared/lifecycle.js';
import { createLogger, type Logger } from '../shared/logger.js';
import { readSettings } from '../shared/read-settings.js';
import { connectRedis } from '../shared/redis.js';
import { RedisPulse } from '../shared/redis-pulse.js';
import { WorkerPool } from './pool.js';
import { observePool, sweepCounter } from './pool-metrics.js';
import { acquit, strikeCommand, strikesToQuarantine, suspect } from './quarantine.js';
import { startScheduler } from './scheduler.js';

/** Until a worker that is stuck has been killed, and a little longer: others may be stuck in the same version. */
const longestSuspicionMs = 8_000;

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
  const pulse = lifecycle.add(new RedisPulse(redis));
  observeClock(metrics, lifecycle.add(new ClockWatch(redis, logger)));
  const strike = strikeCommand(redis);
  const onDeathOf = (modelKey: string) => {
    strike(modelKey, Date.now()).then(
      (count) =>
        logger.error({ model: modelKey, count, strikesToQuarantine }, 'a worker died while it ran a model'),
      (error: unknown) => logger.error({ model: modelKey, error }, 'a death could not be noted'),
    );
  };
  const onSuspicion = (modelKey: string, isSuspect: boolean) => {
    const told = isSuspect
      ? suspect(redis, modelKey, Date.now() + longestSuspicionMs)
      : acquit(redis, modelKey);
    told.catch((error: unknown) => logger.warn({ model: modelKey, error }, 'a suspicion could not be told'));
  };
  const pool = lifecycle.add(new WorkerPool({ workers: config.workers, logger, onDeathOf, onSuspicion }));
  lifecycle.add(observePool(metrics, { pool, workers: config.workers, redis }));
  lifecycle.add(
    await startAdminServer({
      host: config.host,
      port: config.workerAdminPort,
      registry: metrics,
      readiness: async () => (pool.readyCount > 0 ? pulse.complaint : 'no worker process is ready'),
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
