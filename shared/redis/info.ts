import { mastersOf, type Redis } from './connect.js';
import { redisRunKey } from './keys.js';

/** The value of one line of an INFO reply; undefined when there is no such line. */
export const factOf = (information: string, name: string): string | undefined =>
  new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(information)?.[1];

/** Whether an error is a reply of Redis, and not a broken connection or a missing reply. */
export const isRedisRefusal = (error: unknown): error is Error => error instanceof Error && error.name === 'ReplyError';

/** Unix ms by Redis's clock, which leases, deadlines and rate windows use. */
export async function redisNowMs(redis: Redis): Promise<number> {
  const [seconds, microseconds] = await redis.time();
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
}

/**
 * The Redis ms at which the current run of Redis was first seen. A restart or a failover begins a new run, and the last
 * commands of the run before may be lost. In a cluster, the restart or failover of any master begins a new run.
 * @param nowMs Redis time; stored as the beginning of a run that was not seen before
 * @returns 0 for the first run, also after Redis was emptied: counters are then restored anyway
 * @throws the error of Redis
 */
export async function runBeganMs(redis: Redis, nowMs: number): Promise<number> {
  const runs = await Promise.all(mastersOf(redis).map(runIdOf));
  const run = runs.sort().join('+');
  const [seenRun, beganMs] = ((await redis.get(redisRunKey)) ?? '').split(' ');
  if (seenRun === run) return Number(beganMs);
  const began = seenRun ? nowMs : 0;
  // A full Redis refuses this, and leases must be swept even so. The next sweep sees the run as new again.
  await redis.set(redisRunKey, `${run} ${began}`).catch(() => undefined);
  return began;
}

const runIdOf = async (server: Redis): Promise<string> => factOf(await server.info('server'), 'run_id') ?? '';
