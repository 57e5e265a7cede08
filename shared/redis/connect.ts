import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { errorLog } from '../process/error-log.js';
import type { Logger } from '../process/logger.js';
import { redisRunKey } from './keys.js';

export type { Redis } from 'ioredis';

/**
 * ioredis has a class that extends String, which turns the prototype of strings into a dictionary. Optimized code then
 * looks `charCodeAt` up for each character. V8 makes a prototype fast again when it keeps a method that it found there
 * for an object. A string is none, and V8 keeps nothing before about the tenth time.
 */
function makeStringsFast(): void {
  const text: string = Object('text');
  for (let times = 0; times < 1_000; times += 1) text.charCodeAt(0);
}

export interface RedisConnectionOptions {
  /** `redis:`, `rediss:`, `unix:`, or `redis-cluster:` and `rediss-cluster:` with several hosts. */
  readonly url: string;
  /** Name of the connection in CLIENT LIST. */
  readonly name: string;
  readonly logger: Logger;
  /**
   * `commands`: a command fails at once while there is no connection, and after `commandTimeoutMs` without a reply.
   * `blocking`: for commands that block inside Redis (BullMQ, reply streams, pub/sub). They wait for a reconnection.
   */
  readonly kind: 'commands' | 'blocking';
  readonly commandTimeoutMs?: number;
  /** Max ms for which a command of a `blocking` connection blocks inside Redis; BullMQ's 10 s by default. */
  readonly maxBlockMs?: number;
  /** Whether commands of one iteration of the event loop share a write. Not for connections whose order matters. */
  readonly pipelined?: boolean;
  /** Ms for which an overdue reply is still awaited before the connection is replaced; see `connectRedis`. */
  readonly minPatienceMs?: number;
  /** Min ms between two reconnections because a server takes no writes. */
  readonly readOnlyRetryMs?: number;
}

const maxReconnectDelayMs = 500;
const bullmqBlockMs = 10_000;

/**
 * Opens a connection to Redis. It reconnects for ever, quickly, and an `error` event never becomes an uncaught
 * exception. Await `connectionReady` in a process that must not start without Redis.
 *
 * A half-open connection is replaced: one without any data while a command waits. The limit is twice the command
 * timeout and at least `minPatienceMs`; for a `blocking` connection `minPatienceMs` beyond the block time. The kernel
 * would need about 15 minutes to notice. A connection without a waiting command is left alone.
 */
export function connectRedis({
  url,
  name,
  logger,
  kind,
  commandTimeoutMs = 2_000,
  maxBlockMs = bullmqBlockMs,
  pipelined = false,
  minPatienceMs = 4_000,
  readOnlyRetryMs = 5_000,
}: RedisConnectionOptions): Redis {
  makeStringsFast();
  const shared: RedisOptions = {
    connectionName: name,
    retryStrategy: (attempt) => Math.min(25 * attempt, maxReconnectDelayMs),
    enableReadyCheck: true,
    reconnectOnError: reconnectWhenReadOnly(readOnlyRetryMs),
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
  redis.on('error', errorLog(logger, 'redis connection error', { connection: name }));
  redis.on('ready', () => logger.outages.Redis.answered());
  return redis;
}

/**
 * Reconnects when a server refuses writes: a demoted master keeps its connections, and a new one finds its successor.
 * The successor may not be there yet, so a connection tries again every `retryMs`.
 */
function reconnectWhenReadOnly(retryMs: number): (error: Error) => boolean {
  // Keyed by the options object, which is `this`: BullMQ duplicates the connections that it gets.
  const triedMs = new WeakMap<object, number>();
  return function (this: object, { message }: Error): boolean {
    const nowMs = performance.now();
    if (!message.startsWith('READONLY') || nowMs - (triedMs.get(this) ?? Number.NEGATIVE_INFINITY) < retryMs)
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

/**
 * Resolves when the connection can take commands.
 * @throws Error after `timeoutMs` that says what to check
 */
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

/** Replies with which Redis refuses a user. */
const accessDenied = /^(WRONGPASS|NOAUTH|NOPERM|ERR (invalid password|AUTH ))/;

/**
 * The error that says why there is no connection, and what to check.
 * @param last the connection's last error; for a cluster, the error of a node inside it is used
 */
function noConnection(last: Error | undefined): Error {
  const cause = last instanceof Error && 'lastNodeError' in last ? last.lastNodeError : last;
  const reason = cause instanceof Error ? cause.message : undefined;
  if (reason !== undefined && accessDenied.test(reason))
    return new Error(`Redis denied access: check the user and the password in REDIS_URL (${reason})`, {
      cause,
    });
  const detail = reason === undefined ? '' : ` (${reason})`;
  return new Error(`Redis did not answer: check REDIS_URL, and that the server is running${detail}`, {
    cause,
  });
}

const clusterUrl = /^redis(s?)-cluster:\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^@/]+)\/?$/;
const defaultPort = 6379;

/** The address of a Redis Cluster. */
interface ClusterAddress {
  /** Some of the nodes; the client discovers the others. */
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  readonly username?: string;
  readonly password?: string;
  readonly tls: boolean;
}

/**
 * Parses `redis-cluster://user:password@host:port,host:port` (`rediss-cluster:` for TLS).
 * @returns undefined for an address of another kind
 * @throws Error for a malformed address of a cluster
 */
export function clusterAddressOf(url: string): ClusterAddress | undefined {
  if (!/^rediss?-cluster:/.test(url)) return undefined;
  const [, secure, username = '', password = '', hosts] = clusterUrl.exec(url) ?? [];
  const nodes = (hosts ?? '').split(',').map((entry) => {
    const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d+))?$/.exec(entry.trim()) ?? [];
    const host = bracketed ?? plain;
    if (host === undefined || Number(port ?? defaultPort) > 65_535)
      throw new Error('a Redis Cluster address must have the form redis-cluster://host:port,host:port');
    return { host, port: Number(port ?? defaultPort) };
  });
  return {
    nodes,
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    tls: secure === 's',
  };
}

/**
 * Connects to a cluster. The client has the type of a single Redis, because it takes the same commands and sends each
 * to the node with its keys. `mastersOf` tells the two apart.
 */
function connectCluster(
  { nodes, username, password, tls }: ClusterAddress,
  { retryStrategy, enableOfflineQueue, ...shared }: RedisOptions,
): Redis {
  const retryDelayMs = (attempt: number) => Number(retryStrategy?.(attempt));
  const cluster = new Cluster([...nodes], {
    clusterRetryStrategy: retryDelayMs,
    ...(enableOfflineQueue === undefined ? {} : { enableOfflineQueue }),
    // TLS certificates name hosts, not addresses: names must not be resolved here.
    ...(tls
      ? {
          dnsLookup: (address: string, callback: (error: null, address: string) => void) => callback(null, address),
        }
      : {}),
    redisOptions: {
      ...shared,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      ...(tls ? { tls: {} } : {}),
      // An automatic pipeline could mix scripts of several slots, which a cluster refuses.
      enableAutoPipelining: false,
      replyMapping: 'legacy',
    },
  });
  return cluster as unknown as Redis;
}

/** The servers that take writes: the single Redis, or each master of a cluster. */
export function mastersOf(redis: Redis): readonly Redis[] {
  const maybeCluster: unknown = redis;
  return maybeCluster instanceof Cluster ? maybeCluster.nodes('master') : [redis];
}

/** The value of one line of an INFO reply; undefined when there is no such line. */
export const factOf = (information: string, name: string): string | undefined =>
  new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(information)?.[1];

/** Whether an error is a reply of Redis, and not a broken connection or a missing reply. */
export const isRedisRefusal = (error: unknown): error is Error => error instanceof Error && error.name === 'ReplyError';

/**
 * Unix ms by Redis's clock, which leases, deadlines and rate windows use. In a cluster, the first answer of a master.
 */
export async function redisNowMs(redis: Redis): Promise<number> {
  const answers = mastersOf(redis).map((master) => master.time());
  const [seconds, microseconds] = await Promise.any(answers).catch(() => answers[0] ?? redis.time());
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
}

/**
 * The Redis ms at which the current run of Redis was first seen. A restart or a failover begins a new run, and the last
 * commands of the run before may be lost. In a cluster, the restart or failover of any master begins a new run. A
 * master that does not answer counts as unchanged.
 * @param nowMs Redis time; stored as the beginning of a run that was not seen before
 * @returns 0 for the first run, also after Redis was emptied: counters are then restored anyway
 * @throws the error of Redis
 */
export async function runBeganMs(redis: Redis, nowMs: number): Promise<number> {
  const answers = await Promise.allSettled(mastersOf(redis).map(runIdOf));
  const runs = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  const [seenRun = '', beganMs] = ((await redis.get(redisRunKey)) ?? '').split(' ');
  const seenRuns = seenRun.split('+');
  if (runs.every((run) => seenRuns.includes(run))) return Number(beganMs ?? 0);
  const began = seenRun ? nowMs : 0;
  const kept = runs.length < answers.length ? seenRuns : [];
  const run = [...new Set([...runs, ...kept])].join('+');
  // A full Redis refuses this, and leases must be swept even so. The next sweep sees the run as new again.
  await redis.set(redisRunKey, `${run} ${began}`).catch(() => undefined);
  return began;
}

const runIdOf = async (server: Redis): Promise<string> => factOf(await server.info('server'), 'run_id') ?? '';
