import type { Redis } from '../../shared/redis/connect.js';
import { modelStrikesKey } from '../../shared/redis/keys.js';
import { integerReply, luaCommand } from '../../shared/redis/lua-command.js';

/** Deaths of worker processes after which a version of a model is not run any more. */
export const strikesToQuarantine = 2;
/** Deaths further apart than this are accidents. */
const togetherMs = 60_000;
/** Without another death, a quarantined version may try again after this long; so may a new version, at once. */
const quarantineMs = 60 * 60 * 1000;

/** Counts a death of a worker process against the version of a model that it was running. Gives the count. */
export type Strike = (modelKey: string, nowMs: number) => Promise<number>;

/** Makes the command on a connection. Several deaths at the same time are several. */
export function strikeCommand(redis: Redis): Strike {
  const strike = luaCommand(redis, { file: 'worker/pool/strike.lua', reply: integerReply });
  return (modelKey, nowMs) =>
    strike({ keys: [modelStrikesKey], args: [modelKey, nowMs, togetherMs, quarantineMs] });
}

/** In the same hash, which each chunk's worker reads; `0@<Unix ms until when>`. */
const suspensionOf = (modelKey: string): string => `?${modelKey}`;

/** Asks all workers to leave a version alone until `untilMs`: one of them has not come back from it for a while. */
export async function suspend(redis: Redis, modelKey: string, untilMs: number): Promise<void> {
  await redis.hset(modelStrikesKey, suspensionOf(modelKey), `0@${untilMs}`);
  await redis.pexpire(modelStrikesKey, quarantineMs);
}

/** The worker has come back: the version was slow and no more. */
export async function endSuspension(redis: Redis, modelKey: string): Promise<void> {
  await redis.hdel(modelStrikesKey, suspensionOf(modelKey));
}

/** Whether a version should be left alone at the moment. */
export const isSuspended = (
  strikes: Readonly<Record<string, string>>,
  modelKey: string,
  nowMs: number,
): boolean => Number(strikes[suspensionOf(modelKey)]?.split('@')[1] ?? 0) > nowMs;

/** Versions of models (`<model>:<version>`) that are quarantined. */
export async function quarantinedVersions(redis: Redis): Promise<string[]> {
  const strikes = await redis.hgetall(modelStrikesKey);
  return Object.keys(strikes).filter((modelKey) => isQuarantined(strikes, modelKey, Date.now()));
}

/**
 * Whether a version is quarantined, by the strikes of all versions as Redis holds them. Their hash is kept for as long as
 * something is said of any version, so each strike says itself how old it is.
 */
export function isQuarantined(
  strikes: Readonly<Record<string, string>>,
  modelKey: string,
  nowMs: number,
): boolean {
  const [count = 0, lastMs = 0] = (strikes[modelKey] ?? '').split('@').map(Number);
  return count >= strikesToQuarantine && nowMs - lastMs < quarantineMs;
}
