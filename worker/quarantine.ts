import type { Redis } from 'ioredis';
import { modelStrikesKey } from '../shared/redis-keys.js';

/** Deaths of worker processes after which a version of a model is not run any more. */
export const strikesToQuarantine = 2;
/** Deaths further apart than this are accidents. */
const togetherMs = 60_000;
/** Without another death, a quarantined version may try again after this long; so may a new version, at once. */
const quarantineMs = 60 * 60 * 1000;

/**
 * Counts a death of a worker process against the version of a model that it was running.
 * A strike is kept as `<count>@<Unix ms of the last one>`.
 * @returns the count
 */
export async function strike(redis: Redis, modelKey: string, nowMs: number): Promise<number> {
  const [count = 0, lastMs = 0] = (await redis.hget(modelStrikesKey, modelKey))?.split('@').map(Number) ?? [];
  const next = nowMs - lastMs < togetherMs ? count + 1 : 1;
  await redis.hset(modelStrikesKey, modelKey, `${next}@${nowMs}`);
  await redis.pexpire(modelStrikesKey, quarantineMs);
  return next;
}

/** Versions of models (`<model>:<version>`) that are quarantined. */
export async function quarantinedVersions(redis: Redis): Promise<string[]> {
  const strikes = await redis.hgetall(modelStrikesKey);
  return Object.keys(strikes).filter((modelKey) => isQuarantined(strikes, modelKey));
}

/** Whether a version is quarantined, by the strikes of all versions as Redis holds them. */
export const isQuarantined = (strikes: Readonly<Record<string, string>>, modelKey: string): boolean =>
  Number.parseInt(strikes[modelKey] ?? '0', 10) >= strikesToQuarantine;
