import { setFlagsFromString } from 'node:v8';
import { readWorkerConfig, type WorkerConfig } from '../../shared/config/config.js';
import { dayMs, machineClock } from '../../shared/contract/dates.js';
import { messageOf } from '../../shared/contract/errors.js';
import { callIdGenerator } from '../../shared/contract/identifiers.js';
import { createMetrics, startAdminServer } from '../../shared/process/admin-server.js';
import { ClockWatch, observeClock } from '../../shared/process/clock-watch.js';
import { Lifecycle, readSettings } from '../../shared/process/lifecycle.js';
import { createLogger, type Logger } from '../../shared/process/logger.js';
import { lowerPriority } from '../../shared/process/low-priority.js';
import { ProcessNotes } from '../../shared/process/process-notes.js';
import { leaseMsOf } from '../../shared/quota/leases.js';
import { connectRedis, redisNowMs } from '../../shared/redis/connect.js';
import { RedisHealth } from '../../shared/redis/health.js';
import { connectionName } from '../../shared/redis/running-processes.js';
import { CallDayStore } from '../../shared/store/console/call-days.js';
import { JobUploadStore } from '../../shared/store/jobs/job-uploads.js';
import { JobStore } from '../../shared/store/jobs/jobs.js';
import { startCaches } from '../admission/caches.js';
import { connect, connectSubscriber, type ScoringProcess } from '../connections.js';
import { CallDays } from '../http/call-days.js';
import { startScoring } from '../services.js';
import { observeRunner } from './metrics.js';
import { RowReader } from './rows/row-reader.js';
import { Runner } from './runner.js';

/*
 * The runner of bulk jobs. It reads uploaded files, and scores their slices through the workers. Any number of runners
 * may run.
 */

/**
 * V8 collects old garbage when the heap has doubled; by default it may have four times its size. The rows of slices
 * outlive the young generation, so most of the heap would be garbage.
 */
const heapGrowth = '--heap-growing-percent=100';

async function start(config: WorkerConfig, logger: Logger): Promise<void> {
  if (config.lowersPriority) lowerPriority();
  setFlagsFromString(heapGrowth);
  const lifecycle = new Lifecycle(logger);
  const clock = machineClock(config.clockOffsetMs);
  const owner: ScoringProcess = { name: 'bulk', config, logger, lifecycle, clock };
  const connections = await connect(owner);
  const subscriber = await connectSubscriber(owner);
  const { commands, mongo } = connections;
  const { database, client } = mongo;
  const { follower, ...caches } = await startCaches({ database, subscriber, clock, logger, keysWith: () => undefined });
  lifecycle.add(follower);
  const scoring = await startScoring(owner, connections, { caches, sumsFieldDays: true });
  const health = lifecycle.add(new RedisHealth(commands, { ...config.timings.redis, outage: logger.outages.Redis }));
  const stopping = new AbortController();
  const [jobs, uploads] = [new JobStore(database), new JobUploadStore(database)];
  const metrics = createMetrics();
  const watch = lifecycle.add(new ClockWatch(commands, logger));
  observeClock(metrics, watch);
  lifecycle.add(new ProcessNotes({ kind: 'bulk', redis: commands, config, clock: watch }));
  const runner = lifecycle.add(
    new Runner({
      ...scoring,
      ...caches,
      client,
      database,
      callDays: lifecycle.add(
        new CallDays({ store: new CallDayStore(database), clock, logger, ...config.timings.daySums }),
      ),
      clock,
      logger,
      jobs,
      counts: observeRunner(metrics, jobs),
      uploads,
      rowReader: new RowReader(scoring.slices, uploads),
      newCallId: callIdGenerator(),
      redisNowMs: () => redisNowMs(commands),
      requestTimeoutMs: config.requestTimeoutMs,
      leaseMs: leaseMsOf(config),
      retentionMs: config.jobRetentionDays * dayMs,
      stopping: stopping.signal,
      redis: {
        commands,
        scoring: blocking('turns', owner),
        reading: blocking('reads', owner),
        candidates: blocking('candidates', owner),
      },
    }),
  );
  lifecycle.onStop('new slices', async () => stopping.abort(new Error('the runner stops')));
  const readiness = async () => health.problem ?? runner.problem;
  lifecycle.add(
    await startAdminServer({ host: config.host, port: config.bulkAdminPort, registry: metrics, readiness }),
  );
  lifecycle.listenForSignals();
  lifecycle.followParent();
  runner.start();
  logger.info('bulk runner ready');
  process.send?.({ kind: 'ready' });
}

function blocking(name: string, { config, lifecycle, logger }: ScoringProcess) {
  const url = config.redisUrl ?? '';
  const { minPatienceMs } = config.timings.redis;
  const redis = connectRedis({ url, name: connectionName('bulk', name), kind: 'blocking', logger, minPatienceMs });
  lifecycle.onStop(`redis ${name}`, async () => redis.disconnect());
  return redis;
}

const config = readSettings('bulk', () => readWorkerConfig());
const logger = createLogger(config.logLevel, 'bulk');
process.on('unhandledRejection', (error) => logger.error({ error }, 'unhandled rejection'));
start(config, logger).catch((error: unknown) => {
  logger.fatal({ error }, `the runner of bulk jobs could not start: ${messageOf(error)}`);
  process.exit(1);
});
