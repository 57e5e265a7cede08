import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { defaultKeyBrand } from '../../shared/config/config.js';
import { gradingQueueName } from '../../shared/messages/grading-job.js';
import { queuePrefix } from '../../shared/redis/keys.js';
import { connectMongo, type Db } from '../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../shared/store/connection/prepare-database.js';
import { createWorkspace, type Workspace } from '../demo/tour/demo-workspace.js';
import { privateServers } from '../servers/private-servers.js';
import { temporaryDirectory } from '../servers/run-to-end.js';
import { ownSettings, type ServiceProcess, type Settings, startPart } from '../servers/service-process.js';

/** Real databases, a real worker pool, and a gateway at any date. */
export interface SimulatedService {
  readonly database: Db;
  readonly redis: Redis;
  readonly workspace: Workspace;
  /** Replaces the gateway by one whose clock shows this time. */
  gatewayAt(nowMs: number): Promise<ServiceProcess>;
  stop(): Promise<void>;
}

/**
 * Starts its own databases in a temporary directory and a pool of one worker. Creates an organisation with the demo's
 * model.
 * @param startMs creation date of the organisation
 */
export async function startSimulatedService(startMs: number): Promise<SimulatedService> {
  const stops: (() => unknown)[] = [];
  const stop = async (): Promise<void> => {
    for (const each of stops.splice(0).reverse()) await each();
  };
  try {
    const directory = await temporaryDirectory((undo) => stops.push(undo), 'simulation');
    const servers = await privateServers({ directory, keep: false });
    stops.push(() => servers.stop());
    const mongo = await connectMongo(servers.mongoUrl, { name: 'leadscore-simulation' });
    stops.push(() => mongo.client.close());
    await prepareDatabase(mongo.database);
    const redis = new Redis(servers.redisUrl);
    stops.push(() => redis.disconnect());
    await pauseGrading(redis);
    const environment = {
      ...ownSettings(servers.keyPepper),
      ...{ REDIS_URL: servers.redisUrl, MONGODB_URL: servers.mongoUrl, WORKERS: '1', LOG_LEVEL: 'error' },
    };
    const file = join(directory, 'service.log');
    const descriptor = openSync(file, 'a', 0o600);
    stops.push(() => closeSync(descriptor));
    const start = (kind: 'gateway' | 'worker', settings: Settings = {}) =>
      startPart(kind, { ...environment, ...settings }, { file, descriptor });
    const pool = await start('worker');
    stops.push(() => pool.stop());
    const now = new Date(startMs);
    const workspace = await createWorkspace({ servers, keyBrand: defaultKeyBrand, records: 10_000, now });
    let gateway: ServiceProcess | undefined;
    stops.push(() => gateway?.stop());
    return {
      database: mongo.database,
      redis,
      workspace,
      stop,
      gatewayAt: async (nowMs) => {
        await gateway?.stop();
        gateway = await start('gateway', { CLOCK_OFFSET_MS: String(Math.round(nowMs - Date.now())) });
        return gateway;
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The pool would grade by today's clock. */
async function pauseGrading(redis: Redis): Promise<void> {
  const queue = new Queue(gradingQueueName, { connection: redis, prefix: queuePrefix });
  await queue.pause();
  await queue.close();
}
