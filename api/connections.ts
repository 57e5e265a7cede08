import { retryAtStart } from '../shared/async/retry.js';
import type { WorkerConfig } from '../shared/config/config.js';
import type { Clock } from '../shared/contract/dates.js';
import type { Lifecycle } from '../shared/process/lifecycle.js';
import type { Logger } from '../shared/process/logger.js';
import { leaseMsOf } from '../shared/quota/leases.js';
import { connectionReady, connectRedis, type Redis } from '../shared/redis/connect.js';
import { checkRedis } from '../shared/redis/health.js';
import { claimLease, claimRedis } from '../shared/redis/owner.js';
import { connectionName } from '../shared/redis/running-processes.js';
import { connectMongo, type Db, type Mongo } from '../shared/store/connection/connect.js';
import { installationId } from '../shared/store/connection/installation-id.js';
import { prepareDatabase } from '../shared/store/connection/prepare-database.js';
import { blockMs } from './dispatch/reply-stream.js';

/**
 * Ms for Redis to answer one command. A runner has the lowest priority, so a busy machine withholds the processor from
 * it for seconds. No caller waits for it.
 */
const maxCommandMs = { gateway: 2_000, bulk: 10_000 } as const;

/** A process that scores calls: a gateway, or a runner of bulk jobs. */
export interface ScoringProcess {
  /** Names its connections. */
  readonly name: 'gateway' | 'bulk';
  /** Names the connections of a further thread of the process. */
  readonly thread?: 'large';
  readonly config: WorkerConfig;
  readonly logger: Logger;
  readonly lifecycle: Lifecycle;
  readonly clock: Clock;
  /** Refuses a database before anything is written to it. */
  readonly checkDatabase?: (database: Db) => Promise<void>;
}

export interface Connections {
  /** Quota, rate limit, latest scores, idempotency claims. Commands of one turn of the event loop share a write. */
  readonly commands: Redis;
  /** BullMQ jobs and the trimming of replies. Their order matters, so they do not share writes. */
  readonly jobs: Redis;
  readonly replyReader: Redis;
  readonly subscriber: Redis;
  readonly mongo: Mongo;
}

/** Connects to Redis and MongoDB, and checks that both can be used, together. */
export async function connect(owner: ScoringProcess): Promise<Connections> {
  const { name: process, thread, config, logger, lifecycle } = owner;
  const { redisUrl, mongoUrl } = config;
  if (redisUrl === undefined || mongoUrl === undefined) {
    throw new Error('REDIS_URL and MONGODB_URL must be set. `npm start` runs private servers without them.');
  }
  const connectTo = (name: string, kind: 'commands' | 'blocking', pipelined = false) => {
    const redis = connectRedis({
      url: redisUrl,
      name: connectionName(process, thread === undefined ? name : `${thread}-${name}`),
      kind,
      logger,
      pipelined,
      commandTimeoutMs: commandTimeoutMs(owner),
      maxBlockMs: blockMs,
      minPatienceMs: config.timings.redis.minPatienceMs,
    });
    lifecycle.onStop(`redis ${name}`, async () => redis.disconnect());
    return redis;
  };
  const redis = {
    commands: connectTo('commands', 'commands', true),
    jobs: connectTo('jobs', 'commands'),
    replyReader: connectTo('replies', 'blocking'),
    subscriber: connectTo('changes', 'blocking'),
  };
  await Promise.all(Object.values(redis).map((each) => connectionReady(each)));
  await retryAtStart(() => checkRedis(redis.commands, logger));
  const mongo = await connectMongo(mongoUrl, { name: `leadscore-${process}` });
  lifecycle.onStop('mongo', () => mongo.client.close());
  await owner.checkDatabase?.(mongo.database);
  await prepareDatabase(mongo.database);
  const installation = await retryAtStart(() => installationId(mongo.database));
  await retryAtStart(() => claimRedis(redis.commands, installation));
  await retryAtStart(() => claimLease(redis.commands, leaseMsOf(config)));
  return { ...redis, mongo };
}

export const commandTimeoutMs = ({ name, config }: Pick<ScoringProcess, 'name' | 'config'>): number =>
  Math.min(maxCommandMs[name], minDeadlineMsOf(config));

/** The shorter deadline of the two scoring endpoints: no single step may take longer. */
export const minDeadlineMsOf = ({ requestTimeoutMs, webhookTimeoutMs }: WorkerConfig): number =>
  Math.min(requestTimeoutMs, webhookTimeoutMs);
