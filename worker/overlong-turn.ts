import type { Redis } from '../shared/redis.js';

/**
 * Ends a turn that Redis would keep for longer than it was taken for: its clock was set back since. Nobody would have the
 * next one before that clock has caught up.
 * @param longestMs what the turn was taken for
 * @throws what Redis fails with
 */
export async function endOverlongTurn(redis: Redis, key: string, longestMs: number): Promise<void> {
  if ((await redis.pttl(key)) > longestMs) await redis.del(key);
}
