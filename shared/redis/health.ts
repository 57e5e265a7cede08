import type { Stoppable } from '../process/lifecycle.js';
import type { Logger } from '../process/logger.js';
import { UnusableServer } from '../process/start-step.js';
import { mastersOf } from './cluster.js';
import type { Redis } from './connect.js';
import { factOf, isRedisRefusal } from './info.js';

const askEveryMs = 1_000;
/** Redis that has not answered for this long is as good as away. */
const maxSilenceMs = 3_000;

/**
 * Asks the server behind a connection once a second whether it is there. A connection that was lost without a sign keeps its
 * status: that nothing is answered tells it, and what is asked makes the connection notice (see `connectRedis`), also one
 * on which nothing else is sent.
 */
export class RedisHealth implements Stoppable {
  readonly name = 'redis pulse';
  /** When what is not answered yet was first asked, in the terms of `performance.now()`. */
  private unansweredSinceMs: number | undefined;
  private isAsking = false;
  private readonly timer: NodeJS.Timeout;
  private readonly answered = (): void => {
    this.unansweredSinceMs = undefined;
  };

  constructor(private readonly redis: Redis) {
    this.timer = setInterval(() => void this.ask(), askEveryMs).unref();
    // A new connection is ready when Redis has answered on it.
    redis.on('ready', this.answered);
  }

  /** Why nothing can be asked of Redis now; undefined when it can be. */
  get problem(): string | undefined {
    if (this.redis.status !== 'ready') return 'no connection to Redis';
    const { unansweredSinceMs = Number.POSITIVE_INFINITY } = this;
    return performance.now() - unansweredSinceMs < maxSilenceMs ? undefined : 'Redis does not answer';
  }

  /** Asks no more; the connection stays. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.redis.off('ready', this.answered);
  }

  private async ask(): Promise<void> {
    if (this.isAsking) return;
    this.isAsking = true;
    this.unansweredSinceMs ??= performance.now();
    try {
      await this.redis.ping();
      this.answered();
    } catch (error) {
      // To be refused is an answer as well.
      if (isRedisRefusal(error)) this.answered();
    }
    this.isAsking = false;
  }
}

const rightPolicy = 'noeviction';

/**
 * Makes sure, at start, that a Redis takes writes, into the database that is named, and keeps what it is given. It is asked by
 * INFO, which managed servers allow where they forbid CONFIG; of one that does not allow it, nothing is known.
 * @throws Unfit saying what to name instead; what the connection fails with
 */
export async function checkRedis(redis: Redis, logger: Pick<Logger, 'warn'>): Promise<void> {
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
    throw new UnusableServer(
      'REDIS_URL names one node of a Redis Cluster: write it as redis-cluster://host:port,host:port',
    );
  if (factOf(information, 'role') !== 'slave') return;
  const master = `${factOf(information, 'master_host')}:${factOf(information, 'master_port')}`;
  throw new UnusableServer(
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
    throw new UnusableServer(
      `REDIS_URL names database ${db}, which Redis does not let this process use (${error.message})`,
    );
  });
}
