import { Redis } from 'ioredis';
import { Cluster } from '../../../scripts/servers/cluster.js';
import type { Link } from '../../../scripts/servers/gateway-slot.js';
import { machineClock, monthEndMs } from '../../../shared/process/clock.js';
import { connectMongo } from '../../../shared/store/connection/connect.js';
import type { RunningService, Settings } from '../service/service.js';
import { storesOn } from '../service/stores.js';

export interface FaultServiceOptions {
  /** How each gateway reaches its servers; two, both directly, by default. */
  readonly gateways?: readonly Link[];
  /** The deadline of every call, in ms; the product's own when left out. A lease is three of them. */
  readonly deadlineMs?: number;
  readonly settings?: Settings;
}

/** A service of a test's own that may be harmed in every way: also its MongoDB is nobody else's. */
export interface FaultService extends RunningService {
  readonly cluster: Cluster;
}

const keyPepper = 'pepper-of-the-fault-tests';
const hourMs = 60 * 60 * 1000;
/** What is set where the tests run does not reach the service. */
const notSet = [
  'HOST',
  'BASE_URL',
  'DOCS_URL',
  'KEY_BRAND',
  'MAX_BODY_BYTES',
  'LEGACY_ALIASES',
  'RETENTION_DAYS',
  'TRUSTED_PROXIES',
];

/** The deadline of calls to the shared service, and how long what they hold is held, in ms. */
export const sharedDeadlineMs = 2_000;
export const sharedLeaseMs = 3 * sharedDeadlineMs;

let shared: Promise<FaultService> | undefined;

/**
 * A service that the tests of several faults share, one after the other: whoever harms it makes it whole again. Its first
 * gateway reaches its servers through proxies, its second directly; calls have short deadlines.
 */
export function sharedFaultService(): Promise<FaultService> {
  shared ??= faultService({ gateways: ['proxied', 'direct'], deadlineMs: sharedDeadlineMs });
  return shared;
}

/** Stops the shared service, if a test has started it. For the root hooks. */
export async function stopSharedFaultService(): Promise<void> {
  const starting = shared;
  shared = undefined;
  await starting?.then(
    (service) => service.stop(),
    () => undefined, // the tests that asked for it have said why it did not start
  );
}

/** Starts a service with servers of its own. It is up after a few seconds, and stopped by the test that started it. */
export async function faultService(options: FaultServiceOptions = {}): Promise<FaultService> {
  const { gateways = ['direct', 'direct'] } = options;
  const offsetMs = monthEndMs(Date.now()) - Date.now() < hourMs ? hourMs : 0;
  const cluster = await Cluster.start({ gateways, settings: settingsOf(options, offsetMs) });
  const redis = new Redis(cluster.redisUrl, { retryStrategy: () => 50, maxRetriesPerRequest: null });
  redis.on('error', () => undefined); // what the tests cause
  const mongo = await connectMongo(cluster.mongoUrl, { name: 'leadscore-fault-tests' });
  const running = () => cluster.gateways.flatMap((slot) => slot.gateway ?? []);
  let turn = 0;
  return {
    cluster,
    redis,
    redisNodes: [redis],
    stores: storesOn(mongo.database),
    clock: machineClock(offsetMs),
    keyPepper,
    redisServer: cluster.server('redis'),
    stack: {
      url: running()[0]?.url ?? '',
      gateways: running(),
      pool: cluster.pool,
      ended: Promise.race([...running(), cluster.pool].map((part) => part.ended)),
      stop: () => cluster.stop(),
    },
    url: (gateway) => {
      const urls = cluster.gateways.flatMap((slot) => slot.url ?? []);
      const url = gateway === undefined ? urls[turn++ % urls.length] : cluster.gateways[gateway]?.url;
      if (url === undefined) throw new Error(`the service has no gateway ${gateway ?? ''}`);
      return url;
    },
    startGateway: () => Promise.reject(new Error('the gateways of this service are in its cluster')),
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
    ...Object.fromEntries(notSet.map((name) => [name, undefined])),
    ...{ PORT: '0', ADMIN_PORT: '0', WORKER_ADMIN_PORT: '0', LOG_LEVEL: 'warn' },
    ...{ REQUEST_TIMEOUT_MS: deadline, WEBHOOK_TIMEOUT_MS: deadline, BODY_TIMEOUT_MS: undefined },
    CLOCK_OFFSET_MS: String(offsetMs),
    WORKERS: '2',
    KEY_PEPPER: keyPepper,
    ...settings,
  };
}
