import type { Redis } from '../redis.js';
import { redisRunKey } from '../redis-keys.js';

/**
 * When the Redis that answers now was first seen, in Redis ms: a restart or a failover is another run, and may have lost
 * the last commands of the run before.
 * @param nowMs Redis time, remembered for a run that was not seen before
 * @throws what Redis fails with
 */
export async function runFirstSeenMs(redis: Redis, nowMs: number): Promise<number> {
  const [, run = ''] = /^run_id:(\w+)/m.exec(await redis.info('server')) ?? [];
  const [seenRun, seenAtMs] = ((await redis.get(redisRunKey)) ?? '').split(' ');
  if (seenRun === run && seenAtMs !== undefined) return Number(seenAtMs);
  await redis.set(redisRunKey, `${run} ${nowMs}`);
  return nowMs;
}
