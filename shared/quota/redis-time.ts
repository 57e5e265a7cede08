import type { Redis } from '../redis.js';

/** What Redis's own clock says, in ms: the clock of leases, deadlines and windows. */
export async function redisNowMs(redis: Redis): Promise<number> {
  const [seconds, microseconds] = await redis.time();
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
}
