import { mastersOf } from './cluster.js';
import type { Redis } from './connect.js';
import { redisRunKey } from './keys.js';

/** The value of a line of what Redis answers to INFO; undefined where there is no such line. */
export const factOf = (information: string, name: string): string | undefined =>
  new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(information)?.[1];

/** Whether an error is what Redis answered with, and not that of a connection that broke or of an answer that did not come. */
export const isRedisRefusal = (error: unknown): error is Error =>
  error instanceof Error && error.name === 'ReplyError';

/** What Redis's own clock says, in ms: the clock of leases, deadlines and windows. */
export async function redisNowMs(redis: Redis): Promise<number> {
  const [seconds, microseconds] = await redis.time();
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
}

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
