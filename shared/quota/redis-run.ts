import type { Redis } from '../redis.js';
import { mastersOf } from '../redis-cluster.js';
import { factOf } from '../redis-info.js';
import { redisRunKey } from '../redis-keys.js';

/**
 * When the Redis that answers now took over from another run of it, in Redis ms: after a restart or a failover the last
 * commands of the run before may be lost. 0 for the first run that is seen, and after Redis was emptied: counters are
 * then restored anyway. The run of a cluster is that of all its masters: when one of them restarts or fails over, another
 * run of the whole has begun.
 * @param nowMs Redis time, remembered as the beginning of a run that was not seen before
 * @throws what Redis fails with
 */
export async function runBeganMs(redis: Redis, nowMs: number): Promise<number> {
  const runs = await Promise.all(mastersOf(redis).map(runIdOf));
  const run = runs.sort().join('+');
  const [seenRun, beganMs] = ((await redis.get(redisRunKey)) ?? '').split(' ');
  if (seenRun === run) return Number(beganMs);
  const began = seenRun ? nowMs : 0;
  // Refused while memory is full, when leases must be swept all the same: the next sweep sees the run as new again.
  await redis.set(redisRunKey, `${run} ${began}`).catch(() => undefined);
  return began;
}

const runIdOf = async (server: Redis): Promise<string> => factOf(await server.info('server'), 'run_id') ?? '';
