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

/** A sweep as documents for people show it. Its duration is negative if the clock was set back. */
export const sweepDocument = ({ atMs, tookMs, ...counts }: SweepRecord) => ({
  ...{ at: new Date(atMs).toISOString(), took_ms: Math.max(0, tookMs) },
  ...counts,
});

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
