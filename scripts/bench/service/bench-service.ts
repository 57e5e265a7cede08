import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import type { Db } from 'mongodb';
import { connectMongo } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { createLoadOrganisation, loadKeyBrand, unreachedLimit } from '../../servers/load-organisation.js';
import { startMongo } from '../../servers/mongo-server.js';
import { childProcessIds } from '../../servers/process-usage.js';
import { startRedis } from '../../servers/redis-server.js';
import { type OnEnd, stoppedAtEnd } from '../../servers/run-to-end.js';
import { startStack } from '../../servers/stack.js';
import type { MeasuredTarget } from '../load/messages.js';

/** The measured service with one organisation, whose quota and rate limit are never reached. */
export interface BenchService extends MeasuredTarget {
  readonly modelId: string;
  readonly database: Db;
  readonly versions: { readonly redis: string; readonly mongod: string };
  /** Resolves with the reason and the end of the log when a gateway or the pool ends. */
  readonly ended: Promise<string>;
}

export const workers = 2;

const pepper = 'pepper-of-the-benchmark';
/** Holds all that a run writes, GB: a smaller cache would measure its eviction. */
const mongoCacheGB = 4;
const logLinesShown = 12;

/**
 * Starts its own Redis and mongod in a temporary directory, a gateway and a worker pool. Creates an organisation with a
 * model and API keys.
 * @param options.profileDirectory target of a CPU profile of each process, written at its end; undefined for none
 * @throws Error with the end of the service's log if the service does not start
 */
export async function startBenchService(
  options: { readonly bundlePath: string; readonly profileDirectory?: string | undefined },
  onEnd: OnEnd,
): Promise<BenchService> {
  const directory = await mkdtemp(join(tmpdir(), 'leadscore-bench-'));
  onEnd(() => rm(directory, { recursive: true, force: true }));
  const [mongod, redis] = await Promise.all([
    stoppedAtEnd(onEnd, startMongo({ directory: join(directory, 'mongo'), cacheSizeGB: mongoCacheGB })),
    stoppedAtEnd(onEnd, startRedis({ directory: join(directory, 'redis') })),
  ]);
  const { client, database } = await connectMongo(mongod.url, { name: 'leadscore-bench' });
  onEnd(() => client.close());
  await prepareDatabase(database);
  const { modelIds, secrets } = await createLoadOrganisation(database, {
    name: 'Benchmark',
    limit: unreachedLimit,
    keys: ['live', 'live', 'live', 'live'],
    pepper,
    bundlePath: options.bundlePath,
  });

  const logFile = join(directory, 'service.log');
  const log = openSync(logFile, 'w', 0o600);
  onEnd(async () => closeSync(log));
  const endOfLog = async () => (await readFile(logFile, 'utf8')).trimEnd().split('\n').slice(-logLinesShown).join('\n');
  const { profileDirectory: profiles } = options;
  const nodeOptions = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(profiles)}`];
  const starting = startStack({ redisUrl: redis.url, mongoUrl: mongod.url, log, environment: settings, nodeOptions });
  const stack = await stoppedAtEnd(onEnd, starting).catch(async (error: unknown) => {
    throw new Error(`the service did not start:\n${await endOfLog()}`, { cause: error });
  });

  const { hostname, port } = new URL(stack.url);
  return {
    gateway: { host: hostname, port: Number(port), secrets },
    modelId: modelIds[0] ?? '',
    database,
    groups: {
      gateway: stack.gateways.map((gateway) => gateway.pid),
      workers: [stack.pool.pid, ...childProcessIds(stack.pool.pid)],
      redis: [redis.pid],
      mongod: [mongod.pid],
    },
    versions: {
      mongod: String((await database.admin().serverInfo()).version),
      redis: await redisVersion(redis.url),
    },
    ended: stack.ended.then(async (how) => `${how}\n${await endOfLog()}`),
  };
}

/** Overrides every setting of the caller's environment that would change the figures. */
const settings: Readonly<Record<string, string | undefined>> = {
  HOST: '127.0.0.1',
  PORT: '0',
  ADMIN_PORT: '0',
  WORKER_ADMIN_PORT: '0',
  WORKERS: String(workers),
  LOG_LEVEL: 'warn',
  KEY_BRAND: loadKeyBrand,
  KEY_PEPPER: pepper,
  CLOCK_OFFSET_MS: '0',
  NODE_OPTIONS: undefined,
};

async function redisVersion(url: string): Promise<string> {
  const redis = new Redis(url);
  try {
    return /redis_version:(\S+)/.exec(await redis.info('server'))?.[1] ?? 'unknown';
  } finally {
    redis.disconnect();
  }
}
