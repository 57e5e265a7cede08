import type { Redis } from '../redis.js';
import { redisRunKey } from '../redis-keys.js';

/**
 * When the Redis that answers now took over from another run of it, in Redis ms: after a restart or a failover the last
 * commands of the run before may be lost. 0 for the first run that is seen, and after Redis was emptied: counters are
 * then restored anyway.
 * @param nowMs Redis time, remembered as the beginning of a run that was not seen before
 * @throws what Redis fails with
 */
export async function runBeganMs(redis: Redis, nowMs: number): Promise<number> {
  const [, run = ''] = /^run_id:(\w+)/m.exec(await redis.info('server')) ?? [];
  const [seenRun, beganMs] = ((await redis.get(redisRunKey)) ?? '').split(' ');
  if (seenRun === run) return Number(beganMs);
  const began = seenRun ? nowMs : 0;
  // Refused while memory is full, when leases must be swept all the same: the next sweep sees the run as new again.
  await redis.set(redisRunKey, `${run} ${began}`).catch(() => undefined);
  return began;
}
