import type { Redis } from '../shared/redis.js';
import { queuePrefix } from '../shared/redis-keys.js';
import { laneQueueName, lanes } from '../shared/score-job.js';
import { endOverlongTurn } from './overlong-turn.js';

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
    await endOverlongTurn(redis, `${queuePrefix}:${laneQueueName(lane)}:stalled-check`, lookForStalledMs);
}
