import { mastersOf, type Redis } from './connect.js';
import { redisRunKey } from './keys.js';

/** The value of one line of an INFO reply; undefined when there is no such line. */
export const factOf = (information: string, name: string): string | undefined =>
  new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(information)?.[1];

/** Whether an error is a reply of Redis, and not a broken connection or a missing reply. */
export const isRedisRefusal = (error: unknown): error is Error => error instanceof Error && error.name === 'ReplyError';

/** Unix ms by Redis's clock, which leases, deadlines and rate windows use. In a cluster, the first answer of a master. */
export async function redisNowMs(redis: Redis): Promise<number> {
  const answers = mastersOf(redis).map((master) => master.time());
  const [seconds, microseconds] = await Promise.any(answers).catch(() => answers[0] ?? redis.time());
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
}

/**
 * The Redis ms at which the current run of Redis was first seen. A restart or a failover begins a new run, and the last
 * commands of the run before may be lost. In a cluster, the restart or failover of any master begins a new run. A master
 * that does not answer counts as unchanged.
 * @param nowMs Redis time; stored as the beginning of a run that was not seen before
 * @returns 0 for the first run, also after Redis was emptied: counters are then restored anyway
 * @throws the error of Redis
 */
export async function runBeganMs(redis: Redis, nowMs: number): Promise<number> {
  const answers = await Promise.allSettled(mastersOf(redis).map(runIdOf));
  const runs = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  const [seenRun = '', beganMs] = ((await redis.get(redisRunKey)) ?? '').split(' ');
  const seenRuns = seenRun.split('+');
  if (runs.every((run) => seenRuns.includes(run))) return Number(beganMs ?? 0);
  const began = seenRun ? nowMs : 0;
  const kept = runs.length < answers.length ? seenRuns : [];
  const run = [...new Set([...runs, ...kept])].join('+');
  // A full Redis refuses this, and leases must be swept even so. The next sweep sees the run as new again.
  await redis.set(redisRunKey, `${run} ${began}`).catch(() => undefined);
  return began;
}

const runIdOf = async (server: Redis): Promise<string> => factOf(await server.info('server'), 'run_id') ?? '';
