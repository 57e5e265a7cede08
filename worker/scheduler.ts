import { machineClock } from '../shared/clock.js';
import type { WorkerConfig } from '../shared/config.js';
import { requireFitRedis } from '../shared/fit-redis.js';
import { claimRedis, OtherInstallation } from '../shared/installation.js';
import type { Stoppable } from '../shared/lifecycle.js';
import type { Logger } from '../shared/logger.js';
import { forgettingScores } from '../shared/newest-scores/forget-settled.js';
import { makeRoom } from '../shared/newest-scores/make-room.js';
import { NewestScores } from '../shared/newest-scores/newest-scores.js';
import { leaseMsOf } from '../shared/quota/lease.js';
import { Quota } from '../shared/quota/quota.js';
import { type SweepCounts, sweepLeases } from '../shared/quota/sweep.js';
import { connectionReady, connectRedis } from '../shared/redis.js';
import { startStep } from '../shared/start-step.js';
import { connectMongo } from '../shared/store/connect.js';
import { ErasureStore } from '../shared/store/erasures.js';
import { IdempotencyStore } from '../shared/store/idempotency.js';
import { installationId } from '../shared/store/installation-id.js';
import { ModelStore } from '../shared/store/models.js';
import { OutcomeStore } from '../shared/store/outcomes.js';
import { PredictionStore } from '../shared/store/predictions.js';
import { prepareDatabase } from '../shared/store/prepare.js';
import { UsageLedger } from '../shared/store/usage-ledger.js';
import { ValidationDailyStore } from '../shared/store/validation-daily.js';
import { addUpOlderCalls } from './add-up-older-calls.js';
import { eraseAgain } from './erase-again.js';
import { startGradingLane } from './grading/grading-lane.js';
import { removeOldPredictions } from './retention.js';
import { keepLookingForStalled } from './stalled-jobs.js';
import { startSweeper } from './sweeper.js';
import { startUpkeep, type UpkeepJob } from './upkeep.js';

/** What a lease held is free again five seconds after its end: a sweep takes some time itself. */
const sweepEveryMs = 4_000;
const removeOldEveryMs = 60_000;
const eraseAgainEveryMs = 60_000;
const addUpEveryMs = 10 * 60_000;

/** A Redis that is full cannot be claimed; it is asked again with every sweep. */
function unlessOther(error: unknown): void {
  if (error instanceof OtherInstallation) throw error;
}

type SchedulerConfig = WorkerConfig & { readonly redisUrl: string; readonly mongoUrl: string };

/**
 * Upkeep, done once however many pools there are: the sweep of expired leases, and room where Redis is short of it, every
 * four seconds; as repeated BullMQ jobs, the removal of old predictions and what erased leads have left, every minute, and the
 * sums of older calls, every ten; on a lane of its own, the grading of models.
 */
export async function startScheduler(
  config: SchedulerConfig,
  logger: Logger,
  onSwept: (swept: SweepCounts) => void,
): Promise<Stoppable> {
  const connect = (name: string, kind: 'commands' | 'blocking') =>
    connectRedis({ url: config.redisUrl, name: `leadscore-upkeep-${name}`, kind, logger });
  const [commands, blocking] = [connect('commands', 'commands'), connect('jobs', 'blocking')];
  await connectionReady(commands);
  await startStep(() => requireFitRedis(commands, logger));
  const mongo = await connectMongo(config.mongoUrl, { name: 'leadscore-upkeep', maxPoolSize: 5 });
  await prepareDatabase(mongo.database);
  const installation = await startStep(() => installationId(mongo.database));
  await claimRedis(commands, installation).catch(unlessOther);
  const clock = machineClock(config.clockOffsetMs);
  const ledger = new UsageLedger(mongo.database, clock);
  const quota = new Quota({ redis: commands, ledger, leaseMs: leaseMsOf(config), clock });
  const newest = new NewestScores(commands);
  const erasing = {
    erasures: new ErasureStore(mongo.database),
    models: new ModelStore(mongo.database),
    newest,
    predictions: new PredictionStore(mongo.database),
    outcomes: new OutcomeStore(mongo.database),
    daily: new ValidationDailyStore(mongo.database),
    idempotency: new IdempotencyStore(mongo.database),
    logger,
  };
  const beforeSettling = forgettingScores({ ledger, newest });

  const sweeper = startSweeper({
    redis: commands,
    everyMs: sweepEveryMs,
    sweep: async () => {
      await claimRedis(commands, installation).catch(unlessOther);
      await keepLookingForStalled(commands);
      const dropped = await makeRoom(commands);
      if (dropped > 0) logger.warn({ models: dropped }, 'newest scores given up: Redis is short of memory');
      const swept = await sweepLeases({ redis: commands, quota, ledger, beforeSettling });
      onSwept(swept);
      if (swept.settled + swept.released > 0) logger.info(swept, 'leases swept');
    },
    logger,
  });
  const stopping = new AbortController();
  const jobs: UpkeepJob[] = [
    {
      name: 'retention',
      when: { every: removeOldEveryMs },
      run: async () => {
        const { retentionDays } = config;
        const removed = await removeOldPredictions({
          database: mongo.database,
          redis: commands,
          nowMs: clock.now(),
          retentionDays,
          signal: stopping.signal,
        });
        if (removed > 0) logger.info({ removed, retentionDays }, 'old predictions removed');
      },
    },
    {
      name: 'erasures',
      when: { every: eraseAgainEveryMs },
      run: async () => {
        await eraseAgain(erasing, { nowMs: clock.now(), leaseMs: leaseMsOf(config) });
      },
    },
    {
      name: 'usage-sums',
      when: { every: addUpEveryMs },
      run: () => addUpOlderCalls({ busy: quota.busy, ledger, logger }),
    },
  ];
  const upkeep = await startUpkeep({ redis: blocking, jobs, logger });
  const { database } = mongo;
  const grading = await startGradingLane({ database, clock, redis: commands, blocking, logger });
  return {
    name: 'scheduler',
    stop: async () => {
      stopping.abort();
      await grading.stop();
      await upkeep.stop();
      await sweeper.stop();
      blocking.disconnect();
      commands.disconnect();
      await mongo.client.close();
    },
  };
}
