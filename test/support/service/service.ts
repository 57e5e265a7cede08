import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { LocalServer } from '../../../scripts/servers/server-process.js';
import { type ServiceProcess, startService } from '../../../scripts/servers/service-process.js';
import { type Stack, startStack } from '../../../scripts/servers/stack.js';
import { type Clock, machineClock, monthEndMs } from '../../../shared/process/clock.js';
import { connectMongo } from '../../../shared/store/connection/connect.js';
import { startServiceRedis } from './redis-of-service.js';
import { freshMongoUrl, testServers } from './servers.js';
import { type Stores, storesOn } from './stores.js';

/** Settings by the names of their environment variables; undefined leaves one out. */
export type Settings = Readonly<Record<string, string | undefined>>;

export interface ServiceOptions {
  /** Gateways in front of the one pool; two by default, so that every test is also one of two gateways. */
  readonly gateways?: number;
  /** Settings that differ from those of the shared service. */
  readonly environment?: Settings;
  /** Starts its Redis, where that is to be another than the shared service has. */
  readonly startRedis?: typeof startServiceRedis;
}

/**
 * The service as it runs in production: gateways and a worker pool as processes of their own, on a Redis of its own
 * (other test files empty the one that they share) and in a database of its own of the MongoDB that all tests share.
 */
export interface RunningService {
  /** An address of the service: of the gateway with this number (from 0), else of each gateway in turn. */
  url(gateway?: number): string;
  readonly stack: Stack;
  /** Its Redis as a server, to be frozen or killed by a test with a private service. */
  readonly redisServer: LocalServer;
  /** A connection to its Redis. */
  readonly redis: Redis;
  /** Connections to each server of its Redis: one, unless the tests are run on a cluster. */
  readonly redisNodes: readonly Redis[];
  readonly stores: Stores;
  /** The service's idea of now. */
  readonly clock: Clock;
  /** What the service hashes API keys with. */
  readonly keyPepper: string;
  /** Starts one more gateway on the same data; it ends by its own `stop`, or with the service. */
  startGateway(environment?: Settings): Promise<ServiceProcess>;
  /** What its processes have logged so far, as JSON lines. */
  log(): Promise<string>;
  /** Stops all of it in good order. Idempotent. */
  stop(): Promise<void>;
}

const keyPepper = 'pepper-of-the-tests';
const hourMs = 60 * 60 * 1000;

/** Nothing that is set where the tests run reaches the service. */
const notSet: Settings = Object.fromEntries(
  [
    ...['HOST', 'BASE_URL', 'DOCS_URL', 'KEY_BRAND', 'REQUEST_TIMEOUT_MS', 'WEBHOOK_TIMEOUT_MS'],
    ...['BODY_TIMEOUT_MS', 'MAX_BODY_BYTES', 'LEGACY_ALIASES', 'RETENTION_DAYS', 'CLOCK_OFFSET_MS'],
    'TRUSTED_PROXIES',
  ].map((name) => [name, undefined]),
);
const anyPort: Settings = { PORT: '0', ADMIN_PORT: '0', WORKER_ADMIN_PORT: '0' };

/** For the `before` hook that asks for a service: what else runs on the machine may make its start slow. */
export const startTimeoutMs = 60_000;

let shared: Promise<RunningService> | undefined;

/**
 * A running service. Without options it is the one that all test files share, started by the first that asks and
 * stopped by the root hooks: work on it with a `workspace` of your own, do it no harm and do not stop it. With options,
 * even `{}`, it is a private one, up after about two seconds, that the test stops.
 */
export function runningService(options?: ServiceOptions): Promise<RunningService> {
  if (options !== undefined) return startRunningService(options);
  shared ??= startRunningService({});
  return shared;
}

/** Stops the service that test files share, if one of them has started it. For the root hooks. */
export async function stopSharedService(): Promise<void> {
  const starting = shared;
  shared = undefined;
  await starting?.then(
    (service) => service.stop(),
    () => undefined, // the tests that asked for it have said why it did not start
  );
}

async function startRunningService(options: ServiceOptions): Promise<RunningService> {
  const stops = new StopList();
  try {
    return await startParts(stops, options);
  } catch (error) {
    await stops.run();
    throw error;
  }
}

async function startParts(stops: StopList, options: ServiceOptions): Promise<RunningService> {
  const { gateways = 2, environment, startRedis = startServiceRedis } = options;
  const settings = { ...settingsOfTests(), ...environment };
  const directory = await mkdtemp(join(tmpdir(), 'leadscore-service-'));
  stops.add(() => rm(directory, { recursive: true, force: true }));
  const logFile = join(directory, 'service.log');
  const log = openSync(logFile, 'a', 0o600);
  stops.add(() => closeSync(log));

  const servers = await testServers();
  const redis = await startRedis({ directory: join(directory, 'redis') });
  stops.add(() => redis.stop());
  const urls = { redisUrl: redis.url, mongoUrl: freshMongoUrl(servers.mongoUrl) };
  const stack = await startStack({ ...urls, gateways, environment: settings, log }).catch(
    async (cause: unknown) => {
      throw new Error(`the service did not start:\n${await readFile(logFile, 'utf8')}`, { cause });
    },
  );
  stops.add(() => stack.stop());
  for (const part of [...stack.gateways, stack.pool]) stops.add(endedWithThisProcess(part));

  const mongo = await connectMongo(urls.mongoUrl, { name: 'leadscore-tests' });
  stops.add(() => mongo.client.close());
  return {
    url: turnsOf(stack.gateways),
    stack,
    redisServer: redis.server,
    redis: redis.redis,
    redisNodes: redis.nodes,
    stores: storesOn(mongo.database),
    clock: machineClock(Number(settings.CLOCK_OFFSET_MS ?? 0)),
    keyPepper,
    startGateway: async (environment = {}) => {
      const own = { ...settings, ...environment, REDIS_URL: urls.redisUrl, MONGODB_URL: urls.mongoUrl };
      const gateway = await startService({ kind: 'gateway', environment: own, log });
      stops.add(() => gateway.stop());
      stops.add(endedWithThisProcess(gateway));
      return gateway;
    },
    log: () => readFile(logFile, 'utf8'),
    stop: () => stops.run(),
  };
}

/** Within an hour of a month's end the service already lives in the next: no test runs over the end of a month. */
function settingsOfTests(): Settings {
  const nowMs = Date.now();
  const offset = monthEndMs(nowMs) - nowMs < hourMs ? { CLOCK_OFFSET_MS: String(hourMs) } : {};
  return {
    ...notSet,
    ...anyPort,
    KEY_PEPPER: keyPepper,
    WORKERS: '2',
    LOG_LEVEL: 'warn',
    TEST_TIMINGS_PERCENT: '10',
    ...offset,
  };
}

function turnsOf(gateways: readonly ServiceProcess[]): (gateway?: number) => string {
  let turn = 0;
  return (gateway) => {
    const url = gateways[gateway ?? turn++ % gateways.length]?.url;
    if (url === undefined) throw new Error(`the service has no gateway ${gateway}`);
    return url;
  };
}

/** Kills a part when this process ends without having stopped it. Gives what ends this care. */
function endedWithThisProcess(part: ServiceProcess): () => void {
  const kill = (): void => {
    part.process.kill('SIGKILL');
  };
  process.on('exit', kill);
  return () => process.off('exit', kill);
}

/** What was started and is to be stopped, last first, once. */
class StopList {
  private readonly stops: (() => unknown)[] = [];
  private running: Promise<void> | undefined;

  add(stop: () => unknown): void {
    this.stops.push(stop);
  }

  run(): Promise<void> {
    this.running ??= this.stopAll();
    return this.running;
  }

  private async stopAll(): Promise<void> {
    for (const stop of this.stops.reverse()) await stop();
  }
}
