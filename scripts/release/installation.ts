import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { readBundle } from '../../shared/bundle/archive/read-bundle.js';
import { goldenFile } from '../../shared/bundle/bundle-files.js';
import { checkBundle } from '../../shared/bundle/check-bundle.js';
import { defaultKeyBrand } from '../../shared/config/config.js';
import { projectFile } from '../../shared/process/project-root.js';
import { ApiKeyStore } from '../../shared/store/accounts/api-keys.js';
import { OrganisationStore } from '../../shared/store/accounts/organisations.js';
import { connectMongo, type Db } from '../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../shared/store/connection/prepare-database.js';
import { createModel } from '../../shared/store/models/store-version.js';
import { type PrivateServers, privateServers } from '../servers/private-servers.js';
import { type OnEnd, stoppedAtEnd, temporaryDirectory } from '../servers/run-to-end.js';
import { type ServiceProcess, startPart } from '../servers/service-process.js';
import type { AboutFixture } from './fixture-file.js';
import { settingsAt } from './recorded-answers.js';

/** A small installation with databases of its own. Its processes run only while calls are sent. */
export interface Installation {
  readonly servers: PrivateServers;
  readonly database: Db;
  readonly redis: Redis;
  readonly organisationId: string;
  readonly modelIds: readonly string[];
  readonly keys: AboutFixture['keys'];
  /** Runs a gateway, a pool and a runner with this clock, until the work has ended. */
  running(nowMs: number, work: (url: string) => Promise<void>): Promise<void>;
}

const pepper = 'pepper-of-the-fixture';
const ratePerSecond = 1_000;

/** Starts the databases, and creates an organisation with two models, a live key and a test key. */
export async function startInstallation(startMs: number, onEnd: OnEnd): Promise<Installation> {
  const directory = await temporaryDirectory(onEnd, 'release');
  const servers = await stoppedAtEnd(onEnd, privateServers({ directory, keep: false, keyPepper: pepper }));
  const { client, database } = await connectMongo(servers.mongoUrl, { name: 'leadscore-release' });
  onEnd(() => client.close());
  // A stored reply must not expire before it is read.
  await client.db('admin').command({ setParameter: 1, ttlMonitorEnabled: false });
  await prepareDatabase(database);
  const redis = new Redis(servers.redisUrl);
  onEnd(async () => redis.disconnect());
  const now = new Date(startMs);
  const fields = { name: 'Fixture Ltd', plan: 'pro', policy: 'warn' } as const;
  const { _id: organisationId } = await new OrganisationStore(database).create(fields, now);
  const files = await readBundle(projectFile('scripts/demo/bundle'));
  // Its records have most of the bytes.
  files.delete(goldenFile);
  const bundle = checkBundle(files);
  const modelIds: string[] = [];
  for (const _ of [1, 2]) modelIds.push((await createModel(database, { organisationId, bundle, now }))._id);
  const store = new ApiKeyStore(database);
  const created = async (name: string, kind: 'live' | 'test') => {
    const key = { organisationId, kind, name, ratePerSecond, now, brand: defaultKeyBrand, pepper };
    return (await store.create(key)).secret;
  };
  const keys = { live: await created('HubSpot', 'live'), test: await created('Tests', 'test') };
  const file = join(directory, 'service.log');
  const descriptor = openSync(file, 'a', 0o600);
  onEnd(async () => closeSync(descriptor));
  const running: Installation['running'] = async (nowMs, work) => {
    const urls = { REDIS_URL: servers.redisUrl, MONGODB_URL: servers.mongoUrl };
    const settings = { ...settingsAt(nowMs, pepper), ...urls };
    const parts: ServiceProcess[] = [];
    try {
      for (const kind of ['worker', 'bulk', 'gateway'] as const)
        parts.push(await startPart(kind, settings, { file, descriptor }));
      await work(parts.at(-1)?.url ?? '');
    } finally {
      for (const part of parts.reverse()) await part.stop();
    }
  };
  return { servers, database, redis, organisationId, modelIds, keys, running };
}

/** Repeats a check until it returns something, for at most three minutes. */
export async function until<Found>(check: () => Promise<Found | undefined>, wanted: string): Promise<Found> {
  const endMs = performance.now() + 180_000;
  while (performance.now() < endMs) {
    const found = await check();
    if (found !== undefined) return found;
    await pause(100);
  }
  throw new Error(`after three minutes there is still no ${wanted}`);
}
