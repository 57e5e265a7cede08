import type { WorkerConfig } from '../shared/config/config.js';
import type { Clock } from '../shared/contract/dates.js';
import type { Lifecycle } from '../shared/process/lifecycle.js';
import type { Logger } from '../shared/process/logger.js';
import { leaseMsOf } from '../shared/quota/leases.js';
import { connectionReady, connectRedis, type Redis } from '../shared/redis/connect.js';
import { connectionName } from '../shared/redis/running-processes.js';
import { claimServers } from '../shared/store/connection/claim-servers.js';
import { connectMongo, type Db, defaultPoolSize, type Mongo } from '../shared/store/connection/connect.js';
import { blockMs } from './dispatch/reply-stream.js';

interface ConnectionSettings {
  /** Ms for Redis to answer one command. */
  readonly maxCommandMs: number;
  /** Whether the commands of one iteration of the event loop share a write. */
  readonly pipelined: boolean;
  readonly maxPoolSize: number;
}

const settingsOf: Readonly<Record<ScoringProcess['name'], ConnectionSettings>> = {
  gateway: { maxCommandMs: 2_000, pipelined: true, maxPoolSize: defaultPoolSize },
  // The runner has the lowest priority, so a busy machine withholds the processor from it for seconds. No caller waits.
  bulk: { maxCommandMs: 10_000, pipelined: true, maxPoolSize: defaultPoolSize },
  console: { maxCommandMs: 2_000, pipelined: false, maxPoolSize: 10 },
};

/** A process that scores calls: a gateway, a runner of bulk jobs, or a console with its playground. */
export interface ScoringProcess {
  /** Names its connections. */
  readonly name: 'gateway' | 'bulk' | 'console';
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
  /** Quota, rate limit, latest scores, idempotency claims. */
  readonly commands: Redis;
  /** BullMQ jobs and the trimming of replies. Their order matters, so they do not share writes. */
  readonly jobs: Redis;
  readonly replyReader: Redis;
  readonly mongo: Mongo;
}

/** Connects to Redis and MongoDB, and checks that both can be used, together. */
export async function connect(owner: ScoringProcess): Promise<Connections> {
  const { name, config, logger, lifecycle, checkDatabase } = owner;
  const { mongoUrl } = requireServers(config);
  const { pipelined, maxPoolSize } = settingsOf[name];
  const redis = {
    commands: connectTo(owner, 'commands', 'commands', pipelined),
    jobs: connectTo(owner, 'jobs', 'commands'),
    replyReader: connectTo(owner, 'replies', 'blocking'),
  };
  await Promise.all(Object.values(redis).map((each) => connectionReady(each)));
  const { mongo } = await claimServers({
    redis: redis.commands,
    connectMongo: () =>
      connectMongo(mongoUrl, { name: `leadscore-${name}`, maxPoolSize, outage: logger.outages.MongoDB }),
    checkDatabase,
    leaseMs: leaseMsOf(config),
    logger,
  });
  lifecycle.onStop('mongo', () => mongo.client.close());
  return { ...redis, mongo };
}

/** Connects to Redis for the announcements of changes, which caches need. */
export async function connectSubscriber(owner: ScoringProcess): Promise<Redis> {
  const subscriber = connectTo(owner, 'changes', 'blocking');
  await connectionReady(subscriber);
  return subscriber;
}

function connectTo(owner: ScoringProcess, name: string, kind: 'commands' | 'blocking', pipelined = false): Redis {
  const { name: process, thread, config, logger, lifecycle } = owner;
  const redis = connectRedis({
    url: requireServers(config).redisUrl,
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
}

function requireServers({ redisUrl, mongoUrl }: WorkerConfig): {
  readonly redisUrl: string;
  readonly mongoUrl: string;
} {
  if (redisUrl !== undefined && mongoUrl !== undefined) return { redisUrl, mongoUrl };
  throw new Error('REDIS_URL and MONGODB_URL must be set. `npm start` runs private servers without them.');
}

export const commandTimeoutMs = ({ name, config }: Pick<ScoringProcess, 'name' | 'config'>): number =>
  Math.min(settingsOf[name].maxCommandMs, minDeadlineMsOf(config));

/** The shorter deadline of the two scoring endpoints: no single step may take longer. */
export const minDeadlineMsOf = ({ requestTimeoutMs, webhookTimeoutMs }: WorkerConfig): number =>
  Math.min(requestTimeoutMs, webhookTimeoutMs);
