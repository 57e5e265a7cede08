import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startMongo } from '../../../scripts/servers/mongo-server.js';
import { startRedis } from '../../../scripts/servers/redis/redis-server.js';
import type { LocalServer } from '../../../scripts/servers/server-process.js';

/** The servers that all tests of one Mocha process share. Tests never use servers named by the environment. */
export interface TestServers {
  readonly redisUrl: string;
  /** Without a database: see `freshDatabases`. */
  readonly mongoUrl: string;
  readonly redis: LocalServer;
  readonly mongo: LocalServer;
}

/** Empty databases for one test file. */
export interface FreshDatabases {
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

let starting: Promise<Started> | undefined;

/**
 * The Redis and the MongoDB of this Mocha process, started at the first call and stopped by the root hooks. A
 * test that kills or freezes a server starts its own with `startRedis` or `startMongo`.
 */
export function testServers(): Promise<TestServers> {
  starting ??= start();
  return starting;
}

/**
 * Empties Redis, and returns the URL of a new MongoDB database. Earlier test files lose their data in Redis, so call it
 * in `before`, once for each file.
 */
export async function freshDatabases(): Promise<FreshDatabases> {
  const { redisUrl, mongoUrl } = await testServers();
  const redis = new Redis(redisUrl);
  await redis.flushall();
  redis.disconnect();
  const url = freshMongoUrl(mongoUrl);
  return { redisUrl, mongoUrl: url, databaseName: new URL(url).pathname.slice(1) };
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

/** Stops the servers and removes their data, if any test has started them. */
export async function stopTestServers(): Promise<void> {
  if (starting === undefined) return;
  const { redis, mongo, directory } = await starting;
  starting = undefined;
  await Promise.all([redis.stop(), mongo.stop()]);
  await rm(directory, { recursive: true, force: true });
}

async function start(): Promise<Started> {
  const directory = await mkdtemp(join(tmpdir(), 'leadscore-test-'));
  const [redis, mongo] = await Promise.all([
    startRedis({ directory: join(directory, 'redis'), appendOnly: false }),
    startMongo({ directory: join(directory, 'mongo'), cacheSizeGB: mongoCacheGB }),
  ]);
  return { redisUrl: redis.url, mongoUrl: mongo.url, redis, mongo, directory };
}
