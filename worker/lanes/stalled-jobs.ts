import { settledOrThrow } from '../../shared/async/timeouts.js';
import { lanes } from '../../shared/contract/lanes.js';
import { laneQueueName } from '../../shared/messages/score-job.js';
import type { Redis } from '../../shared/redis/connect.js';
import { partitionPrefix } from '../../shared/redis/keys.js';
import { clearStuckLock } from '../../shared/redis/lock.js';

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
