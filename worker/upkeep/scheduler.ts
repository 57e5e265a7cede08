import type { Timings } from '../../shared/config/timings.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import type { Logger } from '../../shared/process/logger.js';
import type { SweepCounts } from '../../shared/quota/sweep.js';
import { startBundleChecks } from '../bundle-checks/bundle-check-lane.js';
import { startGradingLane } from '../grading/job/grading-lane.js';
import { connectUpkeep, type UpkeepConfig } from './connect.js';
import { startUpkeep } from './jobs.js';
import { upkeepJobs, type upkeepTimings } from './repeated-jobs.js';
import { startSweeps } from './sweeps.js';

export interface SchedulerOptions {
  readonly timings: Readonly<typeof upkeepTimings> & Timings['upkeep'];
  readonly logger: Logger;
  readonly onSwept: (swept: SweepCounts) => void;
}

/**
 * Starts upkeep, which one pool at a time does:
 * - every four seconds, the sweep of expired leases, and eviction when Redis is short of memory;
 * - as repeated BullMQ jobs: retention, the second erasure of leads and jobs of stored leads every minute, the usage
 *   roll-up every ten;
 * - in queues of their own, the grading of models and the checks of uploaded bundles.
 */
export async function startScheduler(
  config: UpkeepConfig,
  { timings, logger, onSwept }: SchedulerOptions,
): Promise<Stoppable> {
  const { sweepEveryMs, scheduleCheckMs } = timings;
  const { partitions, retentionDays, auditRetentionDays } = config;
  const connections = await connectUpkeep(config, logger);
  const { redis, blocking, clock } = connections;
  const { database } = connections.mongo;
  const sweeper = startSweeps(connections, { sweepEveryMs, partitions, onSwept });
  const stopping = new AbortController();
  const jobs = upkeepJobs(connections, { timings, retentionDays, auditRetentionDays, signal: stopping.signal });
  const upkeep = await startUpkeep({ redis: blocking, jobs, scheduleCheckMs, logger });
  const grading = await startGradingLane({ database, clock, redis, blocking, logger });
  const bundleChecks = await startBundleChecks({ database, clock, blocking, logger });
  return {
    name: 'scheduler',
    stop: async () => {
      stopping.abort();
      await grading.stop();
      await bundleChecks.stop();
      await upkeep.stop();
      await sweeper.stop();
      await connections.close();
    },
  };
}
