import { closeSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { LocalServer } from '../../../scripts/servers/server-process.js';
import {
  endWithThisProcess,
  ownSettings,
  type ServiceProcess,
  type Settings,
  startService,
} from '../../../scripts/servers/service-process.js';
import { type Stack, startStack } from '../../../scripts/servers/stack.js';
import { type Clock, machineClock, monthEndMs } from '../../../shared/contract/dates.js';
import { connectMongo } from '../../../shared/store/connection/connect.js';
import { isFullTier } from '../tier.js';
import { startServiceRedis } from './redis-of-service.js';
import { freshMongoUrl, testServers } from './servers.js';
import { type Stores, storesOn } from './stores.js';

export interface ServiceOptions {
  /** Gateways in front of the one pool; one by default. */
  readonly gateways?: number;
  /** Whether a runner of bulk jobs runs; false by default. */
  readonly withRunner?: boolean;
  /** Whether a console runs, on a free port; false by default. */
  readonly withConsole?: boolean;
  /** Settings that differ from those of the default service. */
  readonly environment?: Settings;
  /** Starts the Redis of the service, instead of a single server or the cluster of `useRedisCluster`. */
  readonly startRedis?: typeof startServiceRedis;
}

/**
 * The service as it runs in production: gateways and a worker pool as separate processes. It has its own Redis, because
 * other test files empty the shared one, and its own database in the shared MongoDB.
 */
export interface RunningService {
  /** The address of the gateway with this number (from 0), or of each gateway in turn. */
  url(gateway?: number): string;
  readonly stack: Stack;
  /** The Redis server. Only a test with a private service may freeze or kill it. */
  readonly redisServer: LocalServer;
  readonly redis: Redis;
  /** A connection to each Redis server: one, or three on a cluster. */
  readonly redisNodes: readonly Redis[];
  readonly stores: Stores;
  /** The clock of the service. */
  readonly clock: Clock;
  readonly keyPepper: string;
  /** Addresses of its servers, as its processes and commands get them. */
  readonly urls: { readonly redisUrl: string; readonly mongoUrl: string };
  /** Starts one more gateway on the same data. It stops with its own `stop`, or with the service. */
  startGateway(environment?: Settings): Promise<ServiceProcess>;
  /** The home directory of its processes: empty at their start. */
  readonly home: string;
  /** The log of its processes so far, as JSON lines. */
  log(): Promise<string>;
  /** Stops gateways, pool and Redis. Idempotent. */
  stop(): Promise<void>;
}

const keyPepper = 'pepper-of-the-tests';
/** One process for batches. Each further one costs a second of processor time at its start. */
const smallFleet: Settings = { WORKERS: '1', LANES: '1' };
const fleetOfFull: Settings = { WORKERS: '2', LANES: '4' };
const hourMs = 60 * 60 * 1000;

/** Time limit of a `before` hook that starts a service, on a busy machine. */
export const startTimeoutMs = 60_000;

/** The services that test files share, by name. */
const sharedServices = {
  /** For tests that neither harm the service nor change its settings. */
  default: {},
  /** For tests that name a gateway, or find out what another one knows. */
  twoGateways: { gateways: 2 },
  /** A gateway that waits 1.5 s for a request or for a client that reads. */
  shortTimeouts: { environment: { BODY_TIMEOUT_MS: '1500' } },
  /** Its Redis may be emptied, and a test may start misconfigured processes beside it. */
  disposable: {},
  /** With a runner of bulk jobs. */
  bulk: { withRunner: true },
} satisfies Readonly<Record<string, ServiceOptions>>;

export type SharedServiceName = keyof typeof sharedServices;

const shared = new Map<SharedServiceName, Promise<RunningService>>();

/**
 * A service that the test files of this Mocha process share. The first caller starts it, and the root hooks stop it.
 * Tests work in their own `workspace` and must not stop the service.
 */
export function sharedService(name: SharedServiceName): Promise<RunningService> {
  const started = shared.get(name) ?? startRunningService(sharedServices[name]);
  shared.set(name, started);
  return started;
}

/**
 * Without options, the default shared service. With options, even `{}`, a private service that starts in about two
 * seconds and that the test must stop.
 */
export function runningService(options?: ServiceOptions): Promise<RunningService> {
  return options === undefined ? sharedService('default') : startRunningService(options);
}

/** Stops the services that test files share. For the root hooks. */
export async function stopSharedService(): Promise<void> {
  const starting = [...shared.values()];
  shared.clear();
  await Promise.all(
    starting.map((start) =>
      start.then(
        (service) => service.stop(),
        () => undefined, // the tests that asked for it have reported why it did not start
      ),
    ),
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
  const { gateways = 1, withRunner, withConsole, environment, startRedis = startServiceRedis } = options;
  const directory = await mkdtemp(join(tmpdir(), 'leadscore-service-'));
  stops.add(() => rm(directory, { recursive: true, force: true }));
  const home = join(directory, 'home');
  await mkdir(home);
  const logFile = join(directory, 'service.log');
  const log = openSync(logFile, 'a', 0o600);
  stops.add(() => closeSync(log));

  const settings: Settings = { ...settingsOfTests(), HOME: home, ...environment };
  const servers = await testServers();
  const redis = await startRedis({ directory: join(directory, 'redis') });
  stops.add(() => redis.stop());
  const urls = { redisUrl: redis.url, mongoUrl: freshMongoUrl(servers.mongoUrl) };
  const stack = await startStack({ ...urls, gateways, withRunner, withConsole, environment: settings, log }).catch(
    async (cause: unknown) => {
      throw new Error(`the service did not start:\n${await readFile(logFile, 'utf8')}`, { cause });
    },
  );
  stops.add(() => stack.stop());
  for (const part of [...stack.gateways, stack.pool, stack.runner, stack.console])
    if (part !== undefined) endWithThisProcess(part);

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
    urls,
    startGateway: async (environment = {}) => {
      const own = { ...settings, ...environment, REDIS_URL: urls.redisUrl, MONGODB_URL: urls.mongoUrl };
      const gateway = await startService({ kind: 'gateway', environment: own, log });
      stops.add(() => gateway.stop());
      endWithThisProcess(gateway);
      return gateway;
    },
    home,
    log: () => readFile(logFile, 'utf8'),
    stop: () => stops.run(),
  };
}

/** Within an hour of a month's end, moves the clock into the next month, so that no test runs across the end. */
function settingsOfTests(): Settings {
  const nowMs = Date.now();
  const offset = monthEndMs(nowMs) - nowMs < hourMs ? { CLOCK_OFFSET_MS: String(hourMs) } : {};
  const fleet = isFullTier() ? fleetOfFull : smallFleet;
  return { ...ownSettings(keyPepper), ...fleet, TEST_TIMINGS_PERCENT: '10', LOWER_PRIORITY: 'no', ...offset };
}

function turnsOf(gateways: readonly ServiceProcess[]): (gateway?: number) => string {
  let turn = 0;
  return (gateway) => {
    const url = gateways[gateway ?? turn++ % gateways.length]?.url;
    if (url === undefined) throw new Error(`the service has no gateway ${gateway}`);
    return url;
  };
}

/** Runs its functions once, the last added first. */
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
