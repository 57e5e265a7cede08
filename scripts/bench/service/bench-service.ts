import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import type { Db } from 'mongodb';
import { connectMongo } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { ForkedFunction } from '../../load/forked-function.js';
import { createLoadOrganisation, type LoadOrganisation, unreachedLimit } from '../../load/load-organisation.js';
import { startMongo } from '../../servers/mongo-server.js';
import { childProcessIds, type ProcessGroups } from '../../servers/process-usage.js';
import { startRedis } from '../../servers/redis/redis-server.js';
import { type OnEnd, stoppedAtEnd, temporaryDirectory } from '../../servers/run-to-end.js';
import type { LocalServer } from '../../servers/server-process.js';
import { ownSettings } from '../../servers/service-process.js';
import { type Stack, type StackOptions, startStack } from '../../servers/stack.js';
import type { LoadPlan, LoadReport, MeasuredTarget, Preparation } from '../load/messages.js';
import type { RecordSource } from '../load/request-bodies.js';

/** The measured service with two organisations, whose quotas and rate limits are never reached. */
export interface BenchService extends MeasuredTarget, Preparation {
  /** Keys and model of the second organisation. */
  readonly second: Preparation;
  readonly database: Db;
  readonly redisUrl: string;
  readonly versions: { readonly redis: string; readonly mongod: string };
  /** Resolves with the reason when a gateway or the pool ends. */
  readonly ended: Promise<string>;
}

export const workers = 2;

const pepper = 'pepper-of-the-benchmark';
/** Holds all that a run writes, GB: a smaller cache would measure its eviction. */
const mongoCacheGB = 4;
const standardError = 2;

/**
 * Starts its own Redis and mongod in a temporary directory, a gateway and a worker pool, which log to standard error.
 * Creates two organisations, each with a model and API keys.
 * @param options.profileDirectory target of a CPU profile of each process, written at its end; undefined for none
 * @throws Error if the service does not start
 */
export async function startBenchService(
  options: Pick<RecordSource, 'bundlePath' | 'isDemoBundle'> & {
    readonly profileDirectory?: string | undefined;
    readonly withRunner?: boolean;
    readonly withConsole?: boolean;
  },
  onEnd: OnEnd,
): Promise<BenchService> {
  const { bundlePath, isDemoBundle, profileDirectory: profiles, withRunner, withConsole } = options;
  const servers = await startBenchServers(onEnd);
  const { mongod, redis } = servers;
  const { client, database } = await connectMongo(mongod.url, { name: 'leadscore-bench' });
  onEnd(() => client.close());
  await prepareDatabase(database);
  const keys = ['live', 'live', 'live', 'live'] as const;
  const load = { name: 'Benchmark', limit: unreachedLimit, keys, pepper, bundlePath };
  const first = await createLoadOrganisation(database, load);
  const second = await createLoadOrganisation(database, { ...load, name: 'Second' });
  const nodeOptions = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(profiles)}`];
  const stack = await startBenchStack(servers, { withRunner, withConsole, pepper, nodeOptions }, onEnd);
  const nowMs = Date.now();
  const callerOf = ({ secrets, modelIds }: LoadOrganisation): Preparation => ({
    gateway: { ...addressOf(stack.url), secrets },
    source: { modelId: modelIds[0] ?? '', bundlePath, isDemoBundle, nowMs },
  });
  return {
    ...callerOf(first),
    second: callerOf(second),
    database,
    redisUrl: redis.url,
    groups: processesOf(stack, servers),
    versions: {
      mongod: String((await database.admin().serverInfo()).version),
      redis: await redisVersion(redis.url),
    },
    ended: stack.ended,
  };
}

interface BenchServers {
  readonly mongod: LocalServer;
  readonly redis: LocalServer;
}

/** Starts an empty Redis and mongod in a temporary directory. */
export async function startBenchServers(onEnd: OnEnd): Promise<BenchServers> {
  const directory = await temporaryDirectory(onEnd, 'bench');
  const [mongod, redis] = await Promise.all([
    stoppedAtEnd(onEnd, startMongo({ directory: join(directory, 'mongo'), cacheSizeGB: mongoCacheGB })),
    stoppedAtEnd(onEnd, startRedis({ directory: join(directory, 'redis') })),
  ]);
  return { mongod, redis };
}

/**
 * Starts a gateway, a worker pool and, if asked for, a runner and a console, which log to standard error.
 * @param options.root folder of another built commit, whose programs run instead
 */
export function startBenchStack(
  { mongod, redis }: BenchServers,
  options: Pick<StackOptions, 'withRunner' | 'withConsole' | 'nodeOptions' | 'root'> & { readonly pepper: string },
  onEnd: OnEnd,
): Promise<Stack> {
  const { pepper, ...others } = options;
  const environment = { ...ownSettings(pepper), WORKERS: String(workers), NODE_OPTIONS: undefined };
  const urls = { redisUrl: redis.url, mongoUrl: mongod.url };
  return stoppedAtEnd(onEnd, startStack({ ...urls, ...others, log: standardError, environment }));
}

/** The processes of a service by part. A pool may start others later. */
export const processesOf = (stack: Stack, { mongod, redis }: BenchServers): ProcessGroups => ({
  gateway: stack.gateways.map((gateway) => gateway.pid),
  workers: [stack.pool.pid, ...childProcessIds(stack.pool.pid)],
  redis: [redis.pid],
  mongod: [mongod.pid],
  ...(stack.runner === undefined ? {} : { runner: [stack.runner.pid] }),
  ...(stack.console === undefined ? {} : { console: [stack.console.pid] }),
});

/** Starts the process that makes an organisation's load. Resolves when each of its known leads has been scored once. */
export function startGenerator({ gateway, source }: Preparation): Promise<ForkedFunction<LoadPlan, LoadReport>> {
  const preparation: Preparation = { gateway, source };
  return ForkedFunction.start('dist/scripts/bench/load/measuring-child.js', preparation);
}

export function addressOf(url = ''): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

async function redisVersion(url: string): Promise<string> {
  const redis = new Redis(url);
  try {
    return /redis_version:(\S+)/.exec(await redis.info('server'))?.[1] ?? 'unknown';
  } finally {
    redis.disconnect();
  }
}
