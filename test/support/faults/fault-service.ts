import { homedir } from 'node:os';
import { Redis } from 'ioredis';
import { Cluster } from '../../../scripts/servers/cluster.js';
import { ownSettings, type Settings } from '../../../scripts/servers/service-process.js';
import type { Link } from '../../../scripts/servers/slots/server-link.js';
import { machineClock, monthEndMs } from '../../../shared/contract/dates.js';
import { connectMongo } from '../../../shared/store/connection/connect.js';
import type { RunningService } from '../service/service.js';
import { storesOn } from '../service/stores.js';

export interface FaultServiceOptions {
  /** Path of each gateway to its servers; two direct gateways by default. */
  readonly gateways?: readonly Link[];
  /** Path of each runner of bulk jobs to its servers; no runner by default. */
  readonly runners?: readonly Link[];
  /** Added to the clock of the service, ms. By default no month begins within an hour. */
  readonly clockOffsetMs?: number;
  /** Deadline of every call, ms; the default of the service when omitted. A lease lasts three deadlines. */
  readonly deadlineMs?: number;
  readonly settings?: Settings;
}

/** A service with its own Redis and MongoDB, which tests may harm in any way. */
export interface FaultService extends RunningService {
  readonly cluster: Cluster;
}

const keyPepper = 'pepper-of-the-fault-tests';
const hourMs = 60 * 60 * 1000;
/**
 * Deadline of calls to the shared service, ms. A busy machine needs most of it: with three test processes on two cores,
 * a call takes up to a second.
 */
export const sharedDeadlineMs = 2_000;
export const sharedLeaseMs = 3 * sharedDeadlineMs;
const timingsPercent = '10';

let shared: Promise<FaultService> | undefined;

/**
 * The service that fault tests share, one after another. Each test repairs its damage. The first gateway reaches its
 * servers through proxies, the second directly. Deadlines and background times are short.
 */
export function sharedFaultService(): Promise<FaultService> {
  shared ??= faultService({
    gateways: ['proxied', 'direct'],
    deadlineMs: sharedDeadlineMs,
    settings: { TEST_TIMINGS_PERCENT: timingsPercent },
  });
  return shared;
}

/** Stops the shared service if a test has started it. The root hooks call this. */
export async function stopSharedFaultService(): Promise<void> {
  const starting = shared;
  shared = undefined;
  await starting?.then(
    (service) => service.stop(),
    () => undefined, // it did not start, and the tests that need it have failed
  );
}

/** Starts a service with its own servers, in a few seconds. The test that starts it stops it. */
export async function faultService(options: FaultServiceOptions = {}): Promise<FaultService> {
  const { gateways = ['direct', 'direct'], runners = [], clockOffsetMs } = options;
  const offsetMs = clockOffsetMs ?? (monthEndMs(Date.now()) - Date.now() < hourMs ? hourMs : 0);
  const cluster = await Cluster.start({ gateways, runners, settings: settingsOf(options, offsetMs) });
  const redis = new Redis(cluster.redisUrl, { retryStrategy: () => 50, maxRetriesPerRequest: null });
  redis.on('error', () => undefined); // tests cause errors
  const mongo = await connectMongo(cluster.mongoUrl, { name: 'leadscore-fault-tests' });
  const running = () => cluster.gateways.flatMap((slot) => slot.service ?? []);
  let calls = 0;
  return {
    cluster,
    redis,
    redisNodes: [redis],
    stores: storesOn(mongo.database),
    clock: machineClock(offsetMs),
    keyPepper,
    urls: { redisUrl: cluster.redisUrl, mongoUrl: cluster.mongoUrl },
    redisServer: cluster.server('redis'),
    stack: {
      url: running()[0]?.url ?? '',
      gateways: running(),
      pool: cluster.pool,
      runner: undefined,
      console: undefined,
      consoleUrl: undefined,
      ended: Promise.race([...running(), cluster.pool].map((part) => part.ended)),
      stop: () => cluster.stop(),
    },
    url: (gateway) => {
      const urls = cluster.gateways.flatMap((slot) => slot.url ?? []);
      const url = gateway === undefined ? urls[calls++ % urls.length] : cluster.gateways[gateway]?.url;
      if (url === undefined) throw new Error(`the service has no gateway ${gateway ?? ''}`);
      return url;
    },
    startGateway: () => Promise.reject(new Error('use cluster.addGateway for this service')),
    home: homedir(),
    log: () => cluster.readLog(),
    stop: async () => {
      redis.disconnect();
      await mongo.client.close();
      await cluster.stop();
    },
  };
}

function settingsOf({ deadlineMs, settings }: FaultServiceOptions, offsetMs: number): Settings {
  const deadline = deadlineMs === undefined ? undefined : String(deadlineMs);
  return {
    ...ownSettings(keyPepper),
    LOWER_PRIORITY: 'no', // the kernel would leave bulk workers next to no CPU beside other tests
    ...{ REQUEST_TIMEOUT_MS: deadline, WEBHOOK_TIMEOUT_MS: deadline, CLOCK_OFFSET_MS: String(offsetMs) },
    ...settings,
  };
}
