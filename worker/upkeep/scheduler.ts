import { retryAtStart, UnusableServer } from '../../shared/async/retry.js';
import { settledOrThrow, withTimeout } from '../../shared/async/timeouts.js';
import type { WorkerConfig } from '../../shared/config/config.js';
import type { Timings } from '../../shared/config/timings.js';
import { machineClock } from '../../shared/contract/dates.js';
import { evictUnderPressure, invalidateSettled } from '../../shared/latest-scores/eviction.js';
import { LatestScores } from '../../shared/latest-scores/latest-scores.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import type { Logger } from '../../shared/process/logger.js';
import { leaseMsOf } from '../../shared/quota/leases.js';
import { Quota } from '../../shared/quota/quota.js';
import { type SweepCounts, sweepLeases } from '../../shared/quota/sweep.js';
import { recordSweep } from '../../shared/quota/sweep-log.js';
import { CallVoids } from '../../shared/quota/voids.js';
import { connectionReady, connectRedis, redisNowMs } from '../../shared/redis/connect.js';
import { checkRedis } from '../../shared/redis/health.js';
import { claimLease, claimRedis } from '../../shared/redis/owner.js';
import { ErasureStore, erasingStores } from '../../shared/store/calls/erasures.js';
import type { RecordedCall } from '../../shared/store/calls/idempotency.js';
import { UsageLedger } from '../../shared/store/calls/usage-ledger.js';
import { voidCall } from '../../shared/store/calls/void-call.js';
import { connectMongo } from '../../shared/store/connection/connect.js';
import { installationId } from '../../shared/store/connection/installation-id.js';
import { prepareDatabase } from '../../shared/store/connection/prepare-database.js';
import { SliceStore } from '../../shared/store/jobs/job-slices.js';
import { startBundleChecks } from '../bundle-checks/bundle-check-lane.js';
import { startGradingLane } from '../grading/job/grading-lane.js';
import { laneTimings } from '../lanes/lane-worker.js';
import { clearStuckStalledChecks } from '../lanes/stalled-jobs.js';
import { removeOldJobs } from './job-retention.js';
import { startUpkeep, type UpkeepJob } from './jobs.js';
import { removeUnscoredOutcomes } from './outcome-retention.js';
import { removeOldPredictions, retentionTimings } from './retention.js';
import { eraseAgain } from './second-erasure.js';
import { startSweeper } from './sweeper.js';
import { rollUpUsage } from './usage-rollup.js';

/** Intervals of the jobs. */
export const upkeepTimings = {
  retentionEveryMs: 60_000,
  secondErasureEveryMs: 60_000,
  rollUpEveryMs: 10 * 60_000,
};

/** A node of a cluster that does not answer must not hold up the sweep of the others. */
const maxClaimMs = 500;
const maxClaimMsAtStart = 5_000;

/** Passes over the refusal of a Redis that is out of memory: each sweep claims it again. */
function unlessOther(error: unknown): void {
  if (error instanceof UnusableServer) throw error;
}

type SchedulerConfig = WorkerConfig & { readonly redisUrl: string; readonly mongoUrl: string };

export interface SchedulerOptions {
  readonly timings: Readonly<typeof upkeepTimings> & Timings['upkeep'];
  readonly logger: Logger;
  readonly onSwept: (swept: SweepCounts) => void;
}

/**
 * Starts upkeep, which one pool at a time does:
 * - every four seconds, the sweep of expired leases, and eviction when Redis is short of memory;
 * - as repeated BullMQ jobs: retention and the second erasure of leads every minute, the usage roll-up every ten;
 * - in queues of their own, the grading of models and the checks of uploaded bundles.
 */
export async function startScheduler(
  config: SchedulerConfig,
  { timings, logger, onSwept }: SchedulerOptions,
): Promise<Stoppable> {
  const { minPatienceMs } = config.timings.redis;
  const connect = (name: string, kind: 'commands' | 'blocking') =>
    connectRedis({ url: config.redisUrl, name: `leadscore-upkeep-${name}`, kind, logger, minPatienceMs });
  const [commands, blocking] = [connect('commands', 'commands'), connect('jobs', 'blocking')];
  await connectionReady(commands);
  await retryAtStart(() => checkRedis(commands, logger));
  const mongo = await connectMongo(config.mongoUrl, { name: 'leadscore-upkeep', maxPoolSize: 10 });
  await prepareDatabase(mongo.database);
  const installation = await retryAtStart(() => installationId(mongo.database));
  const leaseMs = leaseMsOf(config);
  const claim = async (limitMs: number): Promise<void> => {
    const claims = [claimRedis(commands, installation), claimLease(commands, leaseMs)];
    await settledOrThrow(claims.map((each) => withTimeout(limitMs, each).catch(unlessOther)));
  };
  await claim(maxClaimMsAtStart);
  const clock = machineClock(config.clockOffsetMs);
  const ledger = new UsageLedger(mongo.database, clock);
  const quota = new Quota({ redis: commands, ledger, leaseMs, clock });
  const latest = new LatestScores(commands);
  const erasureDeps = {
    erasures: new ErasureStore(mongo.database),
    latest,
    ...erasingStores(mongo.database),
    logger,
  };
  const beforeSettling = invalidateSettled(latest);
  const slices = new SliceStore(mongo.database);
  const voidInLedger = (call: RecordedCall) =>
    voidCall(call, { client: mongo.client, ledger, idempotency: erasureDeps.idempotency, slices });
  const voids = new CallVoids({ redis: commands, quota, latest, voidInLedger });
  const evict = async (): Promise<void> => {
    const evicted = await evictUnderPressure(commands);
    if (evicted > 0) logger.warn({ organisations: evicted }, 'latest scores evicted: Redis is short of memory');
  };
  const sweepCounters = async (): Promise<void> => {
    const atMs = clock.now();
    const swept = await sweepLeases({ redis: commands, quota, ledger, beforeSettling });
    onSwept(swept);
    // A full Redis refuses the note. The sweep is done even so.
    await recordSweep(commands, { ...swept, atMs, tookMs: clock.now() - atMs }).catch(() => undefined);
    if (swept.settled + swept.released > 0) logger.info(swept, 'leases swept');
  };
  const sweepVoids = async (): Promise<void> => {
    const calls = await voids.sweep();
    if (calls > 0) logger.info({ calls }, 'noted calls voided');
  };

  const sweeper = startSweeper({
    redis: commands,
    everyMs: timings.sweepEveryMs,
    sweep: async () => {
      await claim(maxClaimMs);
      // One that fails, as when a node of a cluster is away, must not stop the others.
      const clearing = clearStuckStalledChecks(commands, { ...config, ...laneTimings });
      await settledOrThrow([clearing, sweepCounters(), sweepVoids(), evict()]);
    },
    logger,
  });
  const stopping = new AbortController();
  const jobs: UpkeepJob[] = [
    {
      name: 'retention',
      when: { every: timings.retentionEveryMs },
      run: async () => {
        const { retentionDays } = config;
        const removed = await removeOldPredictions({
          database: mongo.database,
          redis: commands,
          nowMs: clock.now(),
          retentionDays,
          timings: retentionTimings,
          signal: stopping.signal,
        });
        if (removed > 0) logger.info({ removed, retentionDays }, 'old predictions removed');
      },
    },
    {
      name: 'outcome-retention',
      when: { every: timings.retentionEveryMs },
      run: async () => {
        const { retentionDays } = config;
        const { database } = mongo;
        const nowMs = clock.now();
        const removed = await removeUnscoredOutcomes({ database, nowMs, retentionDays, signal: stopping.signal });
        if (removed > 0) logger.info({ removed }, 'outcomes of leads without predictions removed');
      },
    },
    {
      name: 'job-retention',
      when: { every: timings.retentionEveryMs },
      run: async () => {
        const removed = await removeOldJobs({
          database: mongo.database,
          nowMs: clock.now(),
          signal: stopping.signal,
        });
        if (removed > 0) logger.info({ removed }, 'old bulk jobs removed');
      },
    },
    {
      name: 'erasures',
      when: { every: timings.secondErasureEveryMs },
      run: async () => {
        await eraseAgain(erasureDeps, { nowMs: await redisNowMs(commands), signal: stopping.signal });
      },
    },
    {
      name: 'usage-rollup',
      when: { every: timings.rollUpEveryMs },
      run: () => rollUpUsage({ activeCounters: quota.activeCounters, ledger, logger }),
    },
  ];
  const upkeep = await startUpkeep({
    redis: blocking,
    jobs,
    scheduleCheckMs: timings.scheduleCheckMs,
    logger,
  });
  const { database } = mongo;
  const grading = await startGradingLane({ database, clock, redis: commands, blocking, logger });
  const bundleChecks = await startBundleChecks({ database, clock, blocking, logger });
  return {
    name: 'scheduler',
    stop: async () => {
      stopping.abort();
      await grading.stop();
      await bundleChecks.stop();
      await upkeep.stop();
      await sweeper.stop();
      blocking.disconnect();
      commands.disconnect();
      await mongo.client.close();
    },
  };
}
