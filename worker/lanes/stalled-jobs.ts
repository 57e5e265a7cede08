import type { Worker } from 'bullmq';
import { everyTick } from '../../shared/async/ticks.js';
import { settledOrThrow } from '../../shared/async/timeouts.js';
import { lanes } from '../../shared/contract/lanes.js';
import { laneQueueName } from '../../shared/messages/score-job.js';
import type { Redis } from '../../shared/redis/connect.js';
import { partitionPrefix } from '../../shared/redis/keys.js';
import { clearStuckLock } from '../../shared/redis/lock.js';

interface StalledCheckOptions {
  /** A connection for commands. */
  readonly commands: Redis;
  readonly stalledCheckMs: number;
  readonly quietLookMs: number;
}

/**
 * The TTL of BullMQ's lock on the check, by which one worker checks in each interval. It is shorter than the interval:
 * else the same worker would find its own lock of the check before.
 */
export const stalledLockMs = (stalledCheckMs: number): number => Math.ceil(0.9 * stalledCheckMs);

/**
 * Checks a queue for jobs of dead workers as long as BullMQ's worker is open: in each interval while the queue has jobs
 * in flight. In a quiet queue it only looks for jobs in flight, and rarely: BullMQ's own check writes to Redis each
 * time. A job that begins after a look is still found before its lock expires.
 */
export function checkForStalledJobs(
  worker: Worker,
  { commands, stalledCheckMs, quietLookMs }: StalledCheckOptions,
): void {
  let isChecking = false;
  let quietUntilMs = 0;
  const check = async (): Promise<void> => {
    const beganMs = performance.now();
    if ((await commands.llen(worker.toKey('active'))) > 0) await worker.backend.moveStalledJobsToWait();
    // Ticks come a little early or late.
    else quietUntilMs = beganMs + quietLookMs - stalledCheckMs / 2;
  };
  const end = everyTick(stalledCheckMs, () => {
    if (isChecking || performance.now() < quietUntilMs) return;
    isChecking = true;
    check()
      // A closed worker has closed its connections.
      .catch((error: Error) => worker.closing === undefined && worker.emit('error', error))
      .finally(() => {
        isChecking = false;
      });
  });
  worker.once('closing', end);
}

/**
 * Clears BullMQ's locks on the check for stalled jobs where they are stuck.
 * @param options.stalledCheckMs TTL with which BullMQ sets them
 * @throws errors of Redis
 */
export async function clearStuckStalledChecks(
  redis: Redis,
  { partitions, stalledCheckMs }: { readonly partitions: number; readonly stalledCheckMs: number },
): Promise<void> {
  const keys = Array.from({ length: partitions }, (_, partition) =>
    lanes.map((lane) => `${partitionPrefix(partition)}:${laneQueueName(lane)}:stalled-check`),
  );
  await settledOrThrow(keys.flat().map((key) => clearStuckLock(redis, key, stalledCheckMs)));
}
