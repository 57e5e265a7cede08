import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { Db } from 'mongodb';
import { checkBundle } from '../../shared/bundle/check-bundle.js';
import { readBundle } from '../../shared/bundle/read-bundle.js';
import { ApiKeyStore } from '../../shared/store/api-keys.js';
import { connectMongo } from '../../shared/store/connect.js';
import { createModel } from '../../shared/store/create-model.js';
import { OrganisationStore } from '../../shared/store/organisations.js';
import { prepareDatabase } from '../../shared/store/prepare.js';
import { startMongo } from '../local-servers/mongo-server.js';
import { startRedis } from '../local-servers/redis-server.js';
import { type OnEnd, stoppedAtEnd } from '../stack/run-to-end.js';
import { startStack } from '../stack/stack.js';
import type { MeasuredTarget } from './load-messages.js';
import { childProcessIds } from './process-usage.js';
import { profilingOptions } from './profiling.js';

/** The service that is measured, with one organisation that may score as much as it likes. */
export interface BenchService extends MeasuredTarget {
  readonly modelId: string;
  readonly database: Db;
  readonly versions: { readonly redis: string; readonly mongod: string };
  /** Resolves when a part of the service ends, with how, and the end of its log. */
  readonly ended: Promise<string>;
}

export interface BenchServiceOptions {
  readonly bundlePath: string;
  readonly workers: number;
  /** Where the gateway and the workers write CPU profiles when they get SIGUSR2; undefined for none. */
  readonly profileDirectory: string | undefined;
}

const modelId = 'mdl_bench';
const keyCount = 4;
const recordsAMonth = 1_000_000_000;
const callsPerSecond = 1_000_000;
const brand = 'leadscore';
const pepper = 'pepper-of-the-benchmark';
/** Enough for what a run writes, so that eviction of a cache far smaller than any in use is not what is measured. */
const mongoCacheGB = 4;

/**
 * Starts a Redis and a mongod of its own in a temporary directory, a gateway and a pool of workers, and creates an
 * organisation with a model and keys.
 * @throws Error with the end of the service's log when it does not start
 */
export async function startBenchService(options: BenchServiceOptions, onEnd: OnEnd): Promise<BenchService> {
  const directory = await mkdtemp(join(tmpdir(), 'leadscore-bench-'));
  onEnd(() => rm(directory, { recursive: true, force: true }));
  const [mongod, redis] = await Promise.all([
    stoppedAtEnd(onEnd, startMongo({ directory: join(directory, 'mongo'), cacheSizeGB: mongoCacheGB })),
    stoppedAtEnd(onEnd, startRedis({ directory: join(directory, 'redis') })),
  ]);

  const mongo = await connectMongo(mongod.url, { name: 'leadscore-bench' });
  onEnd(() => mongo.client.close());
  const secrets = await furnish(mongo.database, options.bundlePath);

  const logFile = join(directory, 'service.log');
  const log = openSync(logFile, 'w', 0o600);
  onEnd(async () => closeSync(log));
  const urls = { redisUrl: redis.url, mongoUrl: mongod.url };
  const starting = startStack({ ...urls, log, environment: environmentOf(options) });
  const stack = await stoppedAtEnd(onEnd, starting).catch(async (error: unknown) => {
    throw new Error(`the service did not start:\n${await endOf(logFile)}`, { cause: error });
  });

  const { hostname, port } = new URL(stack.url);
  return {
    gateway: { host: hostname, port: Number(port), secrets },
    modelId,
    database: mongo.database,
    groups: {
      gateway: stack.gateways.map((gateway) => gateway.pid),
      workers: [stack.pool.pid, ...childProcessIds(stack.pool.pid)],
      redis: [redis.pid],
      mongod: [mongod.pid],
    },
    versions: { mongod: await mongodVersion(mongo.database), redis: await redisVersion(redis.url) },
    ended: stack.ended.then(async (how) => `${how}\n${await endOf(logFile)}`),
  };
}

/** Settings of the gateway and the pool; none that the caller's environment may hold changes what is measured. */
function environmentOf({
  workers,
  profileDirectory,
}: BenchServiceOptions): Record<string, string | undefined> {
  return {
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    WORKER_ADMIN_PORT: '0',
    WORKERS: String(workers),
    LOG_LEVEL: 'warn',
    KEY_BRAND: brand,
    KEY_PEPPER: pepper,
    CLOCK_OFFSET_MS: '0',
    NODE_OPTIONS: profileDirectory === undefined ? undefined : profilingOptions(profileDirectory),
  };
}

/** Creates an organisation with the model and a few keys; gives the keys' secrets. */
async function furnish(database: Db, bundlePath: string): Promise<string[]> {
  const bundle = checkBundle(await readBundle(bundlePath));
  const now = new Date();
  await prepareDatabase(database);
  const organisation = await new OrganisationStore(database).create(
    { name: 'Benchmark', plan: 'enterprise', policy: 'warn', limit: recordsAMonth },
    now,
  );
  await createModel(database, { organisationId: organisation._id, bundle, now, modelId });
  const keys = new ApiKeyStore(database);
  const created = Array.from({ length: keyCount }, (_, index) =>
    keys.create({
      organisationId: organisation._id,
      kind: 'live',
      name: `benchmark ${index + 1}`,
      ratePerSecond: callsPerSecond,
      brand,
      pepper,
      now,
    }),
  );
  return (await Promise.all(created)).map(({ secret }) => secret);
}

async function mongodVersion(database: Db): Promise<string> {
  return String((await database.admin().serverInfo()).version);
}

async function redisVersion(url: string): Promise<string> {
  const redis = new Redis(url);
  try {
    return /redis_version:(\S+)/.exec(await redis.info('server'))?.[1] ?? 'unknown';
  } finally {
    redis.disconnect();
  }
}

async function endOf(logFile: string): Promise<string> {
  return (await readFile(logFile, 'utf8')).trimEnd().split('\n').slice(-12).join('\n');
}
