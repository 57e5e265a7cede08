import type { Redis } from './connect.js';
import { bulkDemandKey } from './keys.js';

/** A runner of bulk jobs repeats its mark at least this often. */
export const markDemandEveryMs = 5_000;
/** Outlives two lost marks. */
const demandTtlMs = 15_000;

/**
 * Says that bulk jobs need worker processes, for the next 15 s. Pools then start theirs within a second.
 * @throws the error of Redis
 */
export async function markBulkDemand(redis: Redis): Promise<void> {
  await redis.set(bulkDemandKey, '', 'PX', demandTtlMs);
}

/**
 * Whether bulk jobs need worker processes.
 * @throws the error of Redis
 */
export async function isBulkDemanded(redis: Redis): Promise<boolean> {
  return (await redis.exists(bulkDemandKey)) === 1;
}
