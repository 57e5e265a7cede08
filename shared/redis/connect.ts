import { Redis, type RedisOptions } from 'ioredis';
import { logConnection } from '../process/error-log.js';
import type { Logger } from '../process/logger.js';
import { clusterAddressOf, connectCluster } from './cluster.js';

export type { Redis } from 'ioredis';

export interface RedisConnectionOptions {
  /** `redis:`, `rediss:`, `unix:`, or `redis-cluster:` and `rediss-cluster:` with several hosts. */
  readonly url: string;
  /** What the connection is for, as Redis's CLIENT LIST shows it. */
  readonly name: string;
  readonly logger: Logger;
  /**
   * `commands`: a command fails at once while there is no connection, and after `commandTimeoutMs` without a reply.
   * `blocking`: for connections that wait inside Redis (BullMQ's, reply streams, pub/sub): commands wait for the
   * connection to come back.
   */
  readonly kind: 'commands' | 'blocking';
  readonly commandTimeoutMs?: number;
  /** The longest that a command of a `blocking` connection waits inside Redis; BullMQ's ten seconds by default. */
  readonly maxBlockMs?: number;
  /** Whether commands of one turn of the event loop are written together; not for connections whose order matters. */
  readonly pipelined?: boolean;
}

const maxReconnectDelayMs = 500;
const readOnlyRetryMs = 5_000;
const bullmqBlockMs = 10_000;
/** What is late by this much is not waited for on the same connection any more. */
const minPatienceMs = 4_000;

/**
 * A connection to Redis that reconnects for ever, quickly, and never makes an `error` event an uncaught exception.
 * Connecting starts at once; await `connectionReady` where a process must not start without Redis.
 *
 * One on which nothing comes while a command waits, for twice as long as commands may take or four seconds longer than they
 * may block, is given up for a new one: connections are lost without a sign, and the kernel would wait for a quarter of an
 * hour. One on which no command waits is left alone.
 */
export function connectRedis({
  url,
  name,
  logger,
  kind,
  commandTimeoutMs = 2_000,
  maxBlockMs = bullmqBlockMs,
  pipelined = false,
}: RedisConnectionOptions): Redis {
  const shared: RedisOptions = {
    connectionName: name,
    retryStrategy: (attempt) => Math.min(25 * attempt, maxReconnectDelayMs),
    enableReadyCheck: true,
    reconnectOnError: whereReadOnly(),
    connectTimeout: 5_000,
  };
  const perKind: RedisOptions =
    kind === 'commands'
      ? {
          enableOfflineQueue: false,
          maxRetriesPerRequest: 1,
          commandTimeout: commandTimeoutMs,
          socketTimeout: Math.max(2 * commandTimeoutMs, minPatienceMs),
          enableAutoPipelining: pipelined,
        }
      : { maxRetriesPerRequest: null, socketTimeout: maxBlockMs + minPatienceMs };
  const redis = connect(url, { ...shared, ...perKind });
  logConnection(redis, name, logger);
  return redis;
}

/**
 * A master that was made a replica keeps its connections: a new one finds what has taken its place, if that has happened
 * already; if not, it is looked for again after a while.
 */
function whereReadOnly(): (error: Error) => boolean {
  // By the options of each connection, on which this is called: BullMQ makes connections like the one that it is given.
  const triedMs = new WeakMap<object, number>();
  return function (this: object, { message }: Error): boolean {
    const nowMs = performance.now();
    if (
      !message.startsWith('READONLY') ||
      nowMs - (triedMs.get(this) ?? Number.NEGATIVE_INFINITY) < readOnlyRetryMs
    )
      return false;
    triedMs.set(this, nowMs);
    return true;
  };
}

function connect(url: string, given: RedisOptions): Redis {
  const options = { ...given, replyMapping: 'legacy' as const };
  const cluster = clusterAddressOf(url);
  if (cluster !== undefined) return connectCluster(cluster, options);
  return url.startsWith('unix:') ? new Redis(url.slice('unix:'.length), options) : new Redis(url, options);
}

/** Resolves when the connection can take commands. Fails with what to check after `timeoutMs`. */
export async function connectionReady(redis: Redis, timeoutMs = 10_000): Promise<void> {
  if (redis.status === 'ready') return;
  let last: Error | undefined;
  const failed = (error: Error) => {
    last = error;
  };
  redis.on('error', failed);
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      redis.off('ready', ready);
      reject(noConnection(last));
    }, timeoutMs);
    const ready = () => {
      clearTimeout(timer);
      resolve();
    };
    redis.once('ready', ready);
  }).finally(() => redis.off('error', failed));
}

/** With these, Redis answers, and does not let the process in. */
const notLetIn = /^(WRONGPASS|NOAUTH|NOPERM|ERR (invalid password|AUTH ))/;

/**
 * Why there is no connection to Redis, and what to check.
 * @param last the last error that the connection met; of a cluster, the one that a node gave goes before
 */
export function noConnection(last: Error | undefined): Error {
  const cause = last instanceof Error && 'lastNodeError' in last ? last.lastNodeError : last;
  const reason = cause instanceof Error ? cause.message : undefined;
  if (reason !== undefined && notLetIn.test(reason))
    return new Error(
      `Redis did not let this process in: check the user and the password in REDIS_URL (${reason})`,
      { cause },
    );
  const said = reason === undefined ? '' : ` (${reason})`;
  return new Error(`Redis did not answer: check REDIS_URL, and that the server is running${said}`, { cause });
}
