import { Redis } from 'ioredis';
import type { Db } from 'mongodb';
import { readBundle } from '../../../shared/bundle/archive/read-bundle.js';
import { type CheckedBundle, checkBundle } from '../../../shared/bundle/check-bundle.js';
import { testBucketRecords } from '../../../shared/contract/plans.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { connectMongo } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { createLoadOrganisation, type LoadOrganisation, unreachedLimit } from '../../load/load-organisation.js';
import { Cluster } from '../../servers/cluster.js';
import { type OnEnd, stoppedAtEnd } from '../../servers/run-to-end.js';
import { freePort } from '../../servers/server-process.js';
import { ownSettings } from '../../servers/service-process.js';

/** The attacked service, with the settings of production on its own servers. */
export interface AttackService {
  readonly cluster: Cluster;
  /** Address of the only gateway, so that victim and attacks share it. */
  readonly url: string;
  /** Address of the gateway's metrics. */
  readonly metricsUrl: string;
  readonly redis: Redis;
  readonly database: Db;
  readonly victim: LoadOrganisation;
  /** Creates a trial organisation with a live key, a test key, and two models. */
  createAttacker(name: string): Promise<LoadOrganisation>;
}

/** Characters of a name or label in a manifest. */
const maxName = 255;
const pepper = 'pepper-of-the-attack-run';
const trialRecords = 10 * testBucketRecords;
const defaultRatePerSecond = 10;

/** Starts Redis, MongoDB, one gateway, a worker pool and a runner of bulk jobs. */
export async function startAttackService(onEnd: OnEnd): Promise<AttackService> {
  const adminPort = await freePort();
  const settings = { ...ownSettings(pepper), ADMIN_PORT: String(adminPort) };
  const starting = Cluster.start({ gateways: ['direct'], settings, runners: ['direct'] });
  const cluster = await stoppedAtEnd(onEnd, starting);
  const redis = new Redis(cluster.redisUrl, { maxRetriesPerRequest: null });
  redis.on('error', () => undefined); // it retries
  onEnd(async () => redis.disconnect());
  const { client, database } = await connectMongo(cluster.mongoUrl, { name: 'leadscore-attack' });
  onEnd(() => client.close());
  await prepareDatabase(database);
  const occluded = await occludedBundle();
  return {
    cluster,
    url: cluster.gateways[0]?.url ?? '',
    metricsUrl: `http://127.0.0.1:${adminPort}/metrics`,
    redis,
    database,
    victim: await createLoadOrganisation(database, { name: 'Victim', limit: unreachedLimit, keys: ['live'], pepper }),
    createAttacker: async (name) => {
      const trial = { plan: 'trial', limit: trialRecords, ratePerSecond: defaultRatePerSecond } as const;
      const created = await createLoadOrganisation(database, { name, ...trial, keys: ['live', 'test'], pepper });
      const slow = await createModel(database, { organisationId: created.id, bundle: occluded, now: new Date() });
      return { ...created, modelIds: [...created.modelIds, slow._id] };
    },
  };
}

/** The demo's model with the longest labels and names, and without the figures of an exact explanation. */
async function occludedBundle(): Promise<CheckedBundle> {
  const files = await readBundle(projectFile('scripts/demo/bundle'));
  const {
    explain: _,
    recency,
    ...manifest
  } = JSON.parse(String(files.get('manifest.json'))) as {
    readonly explain: unknown;
    readonly recency: unknown;
    readonly features: readonly { readonly field: string; readonly aliases?: readonly string[] }[];
  };
  const features = manifest.features.map(({ field, aliases = [], ...feature }) => ({
    ...feature,
    field: field.padEnd(maxName, '\u8abf'),
    aliases: [field, ...aliases],
    label: '\u8abf'.repeat(maxName),
  }));
  return checkBundle(new Map([...files, ['manifest.json', Buffer.from(JSON.stringify({ ...manifest, features }))]]));
}
