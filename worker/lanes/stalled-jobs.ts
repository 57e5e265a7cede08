import { laneQueueName, lanes } from '../../shared/messages/score-job.js';
import type { Redis } from '../../shared/redis/connect.js';
import { queuePrefix } from '../../shared/redis/keys.js';

/**
 * Clears BullMQ's locks on the check for stalled jobs where they are stuck.
 * @param stalledCheckMs TTL with which BullMQ sets them
 * @throws errors of Redis
 */
export async function clearStuckStalledChecks(redis: Redis, stalledCheckMs: number): Promise<void> {
  for (const lane of lanes)
    await clearStuckLock(redis, `${queuePrefix}:${laneQueueName(lane)}:stalled-check`, stalledCheckMs);
}

/**
 * Deletes a lock whose TTL exceeds the TTL that it was set with. This happens when Redis's clock is set back; the lock
 * would not expire before that clock has caught up.
 * @param maxMs the TTL that it was set with
 * @throws errors of Redis
 */
export async function clearStuckLock(redis: Redis, key: string, maxMs: number): Promise<void> {
  if ((await redis.pttl(key)) > maxMs) await redis.del(key);
}
