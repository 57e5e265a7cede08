import type { Redis } from '../redis/connect.js';
import { sweepLogKey } from '../redis/keys.js';
import type { SweepCounts } from './sweep.js';

/** A finished sweep, for the operator's page. */
export interface SweepRecord extends SweepCounts {
  /** When it began, in Unix ms. */
  readonly atMs: number;
  readonly tookMs: number;
}

const kept = 10;

/**
 * Notes a finished sweep, and forgets all but the latest ten.
 * @throws the error of Redis
 */
export async function recordSweep(redis: Redis, sweep: SweepRecord): Promise<void> {
  await redis
    .multi()
    .lpush(sweepLogKey, JSON.stringify(sweep))
    .ltrim(sweepLogKey, 0, kept - 1)
    .exec();
}

/**
 * The latest sweeps of all pools, latest first.
 * @throws the error of Redis
 */
export async function latestSweeps(redis: Redis): Promise<SweepRecord[]> {
  return (await redis.lrange(sweepLogKey, 0, kept - 1)).map((text) => JSON.parse(text));
}
