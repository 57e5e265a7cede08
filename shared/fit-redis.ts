import type { Logger } from './logger.js';
import type { Redis } from './redis.js';
import { mastersOf } from './redis-cluster.js';
import { factOf } from './redis-info.js';
import { isRedisRefusal } from './redis-refusal.js';
import { Unfit } from './start-step.js';

const rightPolicy = 'noeviction';

/**
 * Makes sure, at start, that a Redis takes writes, into the database that is named, and keeps what it is given. It is asked by
 * INFO, which managed servers allow where they forbid CONFIG; of one that does not allow it, nothing is known.
 * @throws Unfit saying what to name instead; what the connection fails with
 */
export async function requireFitRedis(redis: Redis, logger: Pick<Logger, 'warn'>): Promise<void> {
  const masters = mastersOf(redis);
  const told = await Promise.all(masters.map(informationOf));
  const [first = ''] = told;
  // A cluster's client knows by itself which nodes are masters.
  if (masters.includes(redis)) {
    requireMaster(first);
    await requireDatabase(redis);
  }
  const policies = new Set(told.map((information) => factOf(information, 'maxmemory_policy')));
  const wrong = [...policies].filter((policy) => policy !== undefined && policy !== rightPolicy);
  if (wrong.length > 0)
    logger.warn(
      { policy: wrong.join(', ') },
      `Redis throws away what it holds when it is full: set its maxmemory-policy to ${rightPolicy}`,
    );
}

async function informationOf(master: Pick<Redis, 'info'>): Promise<string> {
  try {
    return await master.info();
  } catch (error) {
    if (isRedisRefusal(error)) return '';
    throw error;
  }
}

function requireMaster(information: string): void {
  if (factOf(information, 'redis_mode') === 'cluster')
    throw new Unfit(
      'REDIS_URL names one node of a Redis Cluster: write it as redis-cluster://host:port,host:port',
    );
  if (factOf(information, 'role') !== 'slave') return;
  const master = `${factOf(information, 'master_host')}:${factOf(information, 'master_port')}`;
  throw new Unfit(
    `REDIS_URL names a Redis that is a read-only replica of ${master}: name the one that takes writes, or an address ` +
      'that follows it',
  );
}

/** A connection whose database is refused works on the first one, and says no more than that there was an error. */
async function requireDatabase(redis: Redis): Promise<void> {
  const { db = 0 } = redis.options;
  if (db === 0) return;
  await redis.select(db).catch((error: unknown) => {
    if (!isRedisRefusal(error)) throw error;
    throw new Unfit(
      `REDIS_URL names database ${db}, which Redis does not let this process use (${error.message})`,
    );
  });
}
