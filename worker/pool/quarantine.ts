import { deathsOf } from '../../shared/messages/deaths.js';
import type { ChunkHead } from '../../shared/messages/score-job.js';
import type { Redis } from '../../shared/redis/connect.js';
import { modelStrikesKey } from '../../shared/redis/keys.js';
import { integerReply, luaCommand } from '../../shared/redis/lua-command.js';

/** How a chunk ended the worker process that worked on it. */
export type DeathCause = 'crash' | 'hang';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** How long a strike is remembered. A single one may be an accident of the machine; a second one is a quarantine. */
const windowMs: Readonly<Record<DeathCause, number>> = { crash: minuteMs, hang: hourMs };
const quarantineMs = hourMs;

/** Counts the death of a worker process against the version whose chunk it worked on. Returns the count. */
export type Strike = (of: Pick<ChunkHead, 'model' | 'version'>, cause: DeathCause, nowMs: number) => Promise<number>;

/** Makes the command on a connection. */
export function strikeCommand(redis: Redis): Strike {
  const strike = luaCommand(redis, { file: 'worker/pool/strike.lua', reply: integerReply });
  return (of, cause, nowMs) =>
    strike({ keys: [modelStrikesKey], args: [quarantineKey(of), nowMs, windowMs[cause], quarantineMs] });
}

/** Names a version among the strikes and the quarantined versions. */
export const quarantineKey = ({ model, version }: Pick<ChunkHead, 'model' | 'version'>): string =>
  `${model}:${version}`;

/** The versions (`<model>:<version>`) that are quarantined. */
export async function quarantinedVersions(redis: Redis): Promise<string[]> {
  const strikes = await redis.hgetall(modelStrikesKey);
  return Object.keys(strikes).filter((modelKey) => isQuarantined(strikes, modelKey, Date.now()));
}

/**
 * Whether a version is quarantined. The hash outlives single quarantines, so each entry holds its own end.
 * @param strikes all versions' strikes, as `strike.lua` writes them
 */
export const isQuarantined = (strikes: Readonly<Record<string, string>>, modelKey: string, nowMs: number): boolean =>
  nowMs < deathsOf(modelKey, strikes[modelKey]).untilMs;
