import { UnusableServer } from '../async/retry.js';
import { everyTick } from '../async/ticks.js';
import type { Stoppable } from '../process/lifecycle.js';
import type { Logger } from '../process/logger.js';
import { absentServer, type Outage } from '../process/outage.js';
import { factOf, isRedisRefusal, mastersOf, type Redis } from './connect.js';

export interface RedisHealthOptions {
  readonly pingEveryMs?: number;
  /** Ms without a reply after which Redis counts as away. */
  readonly maxSilenceMs?: number;
  /** Learns of missing replies and of replies. */
  readonly outage?: Pick<Outage, 'failed' | 'answered'>;
}

/**
 * Pings the server behind a connection. A half-open connection keeps its status: only a missing reply shows it. The
 * pings also make an idle connection notice that it is half-open (see `connectRedis`).
 */
export class RedisHealth implements Stoppable {
  readonly name = 'redis health';
  /** When the oldest unanswered ping was sent, by `performance.now()`. */
  private unansweredSinceMs: number | undefined;
  private isPinging = false;
  private readonly maxSilenceMs: number;
  /** Until then a connection that is not ready is being made, by `performance.now()`. */
  private readonly connectedByMs: number;
  private readonly endPings: () => void;
  private readonly outage: RedisHealthOptions['outage'];
  private isStopped = false;
  private readonly onReply = (): void => {
    this.unansweredSinceMs = undefined;
    this.outage?.answered();
  };

  constructor(
    private readonly redis: Redis,
    { pingEveryMs = 1_000, maxSilenceMs = 3_000, outage }: RedisHealthOptions = {},
  ) {
    this.maxSilenceMs = maxSilenceMs;
    this.outage = outage;
    this.connectedByMs = performance.now() + pingEveryMs;
    this.endPings = everyTick(pingEveryMs, () => void this.ping());
    // A connection becomes ready by a reply of Redis.
    redis.on('ready', this.onReply);
  }

  /** The reason why Redis cannot be used now; undefined when it can. */
  get problem(): string | undefined {
    if (this.redis.status !== 'ready') return 'no connection to Redis';
    const { unansweredSinceMs = Number.POSITIVE_INFINITY } = this;
    return performance.now() - unansweredSinceMs < this.maxSilenceMs ? undefined : 'Redis does not answer';
  }

  /** Stops the pings. The connection stays open. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.endPings();
    this.redis.off('ready', this.onReply);
  }

  /** The first tick may come at once, and a ping would fail before the connection could be made. */
  private get isConnecting(): boolean {
    return this.redis.status !== 'ready' && performance.now() < this.connectedByMs;
  }

  private async ping(): Promise<void> {
    if (this.isPinging || this.isConnecting) return;
    this.isPinging = true;
    this.unansweredSinceMs ??= performance.now();
    try {
      await this.redis.ping();
      this.onReply();
    } catch (error) {
      // The connection may be closed while a ping is in flight.
      if (this.isStopped) return;
      // A refusal is a reply as well.
      if (absentServer(error) === 'Redis' && error instanceof Error) this.outage?.failed(error, 'ping');
      else if (isRedisRefusal(error)) this.onReply();
    }
    this.isPinging = false;
  }
}

/** With another policy Redis would drop counters and leases when it is full. */
export const requiredPolicy = 'noeviction';

/**
 * Checks at start that Redis is a master, has the named database and allows INFO, which scripts use too. Warns when it
 * may evict keys. Does not use CONFIG, which managed servers forbid.
 * @returns the INFO of each master
 * @throws UnusableServer that says what to change; the error of the connection
 */
export async function checkRedis(redis: Redis, logger: Pick<Logger, 'warn'>): Promise<readonly string[]> {
  const masters = mastersOf(redis);
  const infos = await Promise.all(masters.map(infoOf));
  const [first = ''] = infos;
  // A cluster's client only connects to masters for writes.
  if (masters.includes(redis)) {
    requireMaster(first);
    await requireDatabase(redis);
  }
  const policies = new Set(infos.map((info) => factOf(info, 'maxmemory_policy')));
  const wrong = [...policies].filter((policy) => policy !== undefined && policy !== requiredPolicy);
  if (wrong.length > 0)
    logger.warn(
      { policy: wrong.join(', ') },
      `Redis evicts keys when it is full: set its maxmemory-policy to ${requiredPolicy}`,
    );
  return infos;
}

async function infoOf(master: Pick<Redis, 'info'>): Promise<string> {
  return await master.info().catch((error: unknown) => {
    if (!isRedisRefusal(error) || !isForbidden.test(error.message)) throw error;
    throw new UnusableServer(
      'Redis does not let the user in REDIS_URL run INFO, by which every call recognises a restart of Redis: allow it, ' +
        `for example with ACL SETUSER name +info (${error.message})`,
    );
  });
}

const isForbidden = /^(NOPERM|ERR unknown command)/;

function requireMaster(info: string): void {
  if (factOf(info, 'redis_mode') === 'cluster')
    throw new UnusableServer(
      'REDIS_URL names one node of a Redis Cluster: write it as redis-cluster://host:port,host:port',
    );
  if (factOf(info, 'role') !== 'slave') return;
  const master = `${factOf(info, 'master_host')}:${factOf(info, 'master_port')}`;
  throw new UnusableServer(
    `REDIS_URL names a read-only replica of ${master}: name the master, or an address that follows it`,
  );
}

/** Without this check, a connection whose database is refused would silently use database 0. */
async function requireDatabase(redis: Redis): Promise<void> {
  const { db = 0 } = redis.options;
  if (db === 0) return;
  await redis.select(db).catch((error: unknown) => {
    if (!isRedisRefusal(error)) throw error;
    throw new UnusableServer(`REDIS_URL names database ${db}, which Redis refuses (${error.message})`);
  });
}
