import { laneQueueName, lanes } from '../../shared/messages/score-job.js';
import type { Redis } from '../../shared/redis/connect.js';
import { queuePrefix } from '../../shared/redis/keys.js';

/**
 * How often stalled jobs are looked for. Of all workers one looks in each interval, and when that one has died the next
 * may come just too early to take its place: a job waits for up to twice this long after its lock has run out.
 */
export const lookForStalledMs = 1_000;

/**
 * Has the workers go on looking for stalled jobs where Redis's clock was set back: BullMQ's turns at that do not end then.
 * @throws what Redis fails with
 */
export async function keepLookingForStalled(redis: Redis): Promise<void> {
  for (const lane of lanes)
    await clearStuckLock(redis, `${queuePrefix}:${laneQueueName(lane)}:stalled-check`, lookForStalledMs);
}

/**
 * Ends a turn that Redis would keep for longer than it was taken for: its clock was set back since. Nobody would have the
 * next one before that clock has caught up.
 * @param maxMs what the turn was taken for
 * @throws what Redis fails with
 */
export async function clearStuckLock(redis: Redis, key: string, maxMs: number): Promise<void> {
  if ((await redis.pttl(key)) > maxMs) await redis.del(key);
}
