import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startMongo } from '../../../scripts/servers/mongo-server.js';
import { startRedis } from '../../../scripts/servers/redis/redis-server.js';
import type { LocalServer } from '../../../scripts/servers/server-process.js';

/** Servers that this process started. Tests never use servers named by the environment. */
export interface TestServers {
  /** Their addresses, without any database. */
  readonly redisUrl: string;
  readonly mongoUrl: string;
  readonly redis: LocalServer;
  readonly mongo: LocalServer;
}

/** Empty databases for one test file. */
export interface FreshDatabases {
  /** With the number of a database that no other test file uses. */
  readonly redisUrl: string;
  /** With the database's name, so that clients of this URL use it by default. */
  readonly mongoUrl: string;
  readonly databaseName: string;
}

interface Started extends TestServers {
  readonly directory: string;
}

/**
 * Tests write documents of up to 16 MiB. MongoDB refuses a transaction that the cache cannot hold beside the changes of
 * earlier tests, which it has not yet written to the disk. Its smallest cache, 0.25 GB, was too small for that.
 */
const mongoCacheGB = 1;
/** Numbered databases of a Redis. Number 0 counts those that are taken. */
const redisDatabases = 8_192;

let starting: Promise<Started> | undefined;

/**
 * The servers of this Mocha process, which its test files share one after another. Started at the first call and
 * stopped by the root hooks. One MongoDB for a whole run was slower: the work of mongod grows with its collections, and
 * each test file makes forty. A test that kills or freezes a server starts its own with `startRedis` or `startMongo`.
 */
export function testServers(): Promise<TestServers> {
  starting ??= startTestServers();
  return starting;
}

/** An empty Redis database and a new MongoDB database on the servers of this process. A test may empty the Redis. */
export async function freshDatabases(): Promise<FreshDatabases> {
  const servers = await testServers();
  const mongoUrl = freshMongoUrl(servers.mongoUrl);
  return {
    redisUrl: await freshRedisUrl(servers.redisUrl),
    mongoUrl,
    databaseName: new URL(mongoUrl).pathname.slice(1),
  };
}

/** The URL of an empty database of a Redis that `startTestServers` started. */
async function freshRedisUrl(redisUrl: string): Promise<string> {
  const redis = new Redis(redisUrl);
  const number = 1 + ((await redis.incr('databases')) % (redisDatabases - 1));
  await redis.select(number);
  await redis.flushdb();
  redis.disconnect();
  return `${redisUrl}/${number}`;
}

/**
 * The URL of a new MongoDB database.
 * @param mongoUrl address of the server
 */
export function freshMongoUrl(mongoUrl: string): string {
  const url = new URL(mongoUrl);
  url.pathname = `/test_${randomBytes(6).toString('hex')}`;
  return url.href;
}

/** Stops the servers of this process and removes their data, if any test has started them. */
export async function stopTestServers(): Promise<void> {
  if (starting === undefined) return;
  const servers = await starting;
  starting = undefined;
  await Promise.all([servers.redis.stop(), servers.mongo.stop()]);
  await rm(servers.directory, { recursive: true, force: true });
}

/** Starts a Redis and a MongoDB in a temporary folder. */
async function startTestServers(): Promise<Started> {
  const directory = await mkdtemp(join(tmpdir(), 'leadscore-test-'));
  const [redis, mongo] = await Promise.all([
    startRedis({
      directory: join(directory, 'redis'),
      appendOnly: false,
      extraArguments: ['--databases', String(redisDatabases)],
    }),
    // Most tests wait for writes, and none kills this server.
    startMongo({ directory: join(directory, 'mongo'), cacheSizeGB: mongoCacheGB, confirmsFromMemory: true }),
  ]);
  return { redisUrl: redis.url, mongoUrl: mongo.url, redis, mongo, directory };
}
