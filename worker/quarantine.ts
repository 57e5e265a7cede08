import type { Redis } from 'ioredis';
import { modelStrikesKey } from '../shared/redis-keys.js';

/** Deaths of worker processes after which a version of a model is not run any more. */
export const strikesToQuarantine = 2;
/** Without another death, a version may try again after this long; so may a new version, at once. */
const strikesMs = 60 * 60 * 1000;

/** Counts a death of a worker process against the version of a model that it was running. Returns the count. */
export async function strike(redis: Redis, modelKey: string): Promise<number> {
  const results = await redis
    .multi()
    .hincrby(modelStrikesKey, modelKey, 1)
    .pexpire(modelStrikesKey, strikesMs)
    .exec();
  return Number(results?.[0]?.[1] ?? 0);
}

/** Whether a version is quarantined, by the strikes of all versions as Redis holds them. */
export const isQuarantined = (strikes: Readonly<Record<string, string>>, modelKey: string): boolean =>
  Number(strikes[modelKey] ?? 0) >= strikesToQuarantine;
