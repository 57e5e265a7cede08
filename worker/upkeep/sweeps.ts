import { settledOrThrow } from '../../shared/async/timeouts.js';
import { evictUnderPressure, invalidateSettled } from '../../shared/latest-scores/eviction.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import { type SweepCounts, sweepLeases } from '../../shared/quota/sweep.js';
import { recordSweep } from '../../shared/quota/sweep-log.js';
import { CallVoids } from '../../shared/quota/voids.js';
import { inOneWrite } from '../../shared/redis/lua-command.js';
import { IdempotencyStore, type RecordedCall } from '../../shared/store/calls/idempotency.js';
import { voidCall } from '../../shared/store/calls/void-call.js';
import { SliceStore } from '../../shared/store/jobs/job-slices.js';
import { laneTimings } from '../lanes/lane-worker.js';
import { clearStuckStalledChecks } from '../lanes/stalled-jobs.js';
import { measureBacklogs } from './backlog.js';
import type { UpkeepConnections } from './connect.js';
import { startSweeper } from './sweeper.js';

export interface SweepsOptions {
  readonly sweepEveryMs: number;
  readonly partitions: number;
  readonly onSwept: (swept: SweepCounts) => void;
}

/** A node of a cluster that does not answer must not delay the sweep of the others. */
const maxClaimMs = 500;

/**
 * Starts the sweep. Each run claims Redis again, and then does these at once:
 * - ends expired leases, and voids calls that are to be voided;
 * - evicts latest scores when Redis is short of memory;
 * - clears stuck checks for stalled jobs;
 * - measures the backlogs of the lanes.
 */
export function startSweeps(
  connections: UpkeepConnections,
  { sweepEveryMs, partitions, onSwept }: SweepsOptions,
): Stoppable {
  const { redis, mongo, ledger, quota, latest, logger, clock } = connections;
  const { client, database } = mongo;
  const idempotency = new IdempotencyStore(database);
  const slices = new SliceStore(database);
  const beforeSettling = invalidateSettled(latest);
  const voidInLedger = (call: RecordedCall) => voidCall(call, { client, ledger, idempotency, slices });
  const voids = new CallVoids({ redis, quota, latest, voidInLedger });
  const evict = async (): Promise<void> => {
    const evicted = await evictUnderPressure(redis);
    if (evicted > 0) logger.warn({ organisations: evicted }, 'latest scores evicted: Redis is short of memory');
  };
  const sweepCounters = async (): Promise<void> => {
    const [atMs, beganMs] = [clock.now(), performance.now()];
    const swept = await sweepLeases({ redis, quota, ledger, beforeSettling });
    onSwept(swept);
    const tookMs = Math.round(performance.now() - beganMs);
    // A full Redis refuses the note. The sweep is done even so.
    await recordSweep(redis, { ...swept, atMs, tookMs }).catch(() => undefined);
    if (swept.settled + swept.released > 0) logger.info(swept, 'leases swept');
  };
  const sweepVoids = async (): Promise<void> => {
    const calls = await voids.sweep();
    if (calls > 0) logger.info({ calls }, 'noted calls voided');
  };
  // A full Redis refuses the figures.
  const measure = async (): Promise<void> => {
    await measureBacklogs(redis, partitions).catch((error: unknown) => {
      logger.debug({ error }, 'could not measure the backlogs of the lanes');
    });
  };
  return startSweeper({
    redis,
    everyMs: sweepEveryMs,
    sweep: async () => {
      await connections.claim(maxClaimMs);
      // One that fails, as when a node of a cluster is away, must not stop the others.
      inOneWrite(redis);
      const clearing = clearStuckStalledChecks(redis, { partitions, ...laneTimings });
      await settledOrThrow([clearing, sweepCounters(), sweepVoids(), evict(), measure()]);
    },
    logger,
  });
}
