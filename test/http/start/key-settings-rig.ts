import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import {
  endWithThisProcess,
  type ServiceKind,
  type ServiceProcess,
  type Settings,
  startService,
} from '../../../scripts/servers/service-process.js';
import { type KeySettingName, KeySettingsStore } from '../../../shared/store/accounts/key-settings.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { cliDocument } from '../../scripts/cli/cli-call.js';
import { freshDatabases, freshMongoUrl, testServers } from '../../support/service/servers.js';
import { startTimeoutMs } from '../../support/service/service.js';

export const first = { brand: 'leadscore', pepper: 'the first pepper of a test' } as const;
export const other = { KEY_PEPPER: 'the other pepper of a test' } as const;
export const wayOut = 'To accept that all these keys are void, start once with KEY_PEPPER_CHANGED=yes.';

/** Processes that start with other settings of keys, on empty databases for each test. */
export function keySettingsRig() {
  let directory: string;
  let redisUrl: string;
  let settings: Record<string, string>;
  let redis: Redis;
  let mongo: Mongo;
  const started: ServiceProcess[] = [];
  let logs = 0;

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'leadscore-pepper-'));
    ({ redisUrl } = await freshDatabases());
    redis = new Redis(redisUrl);
  });
  after(() => {
    redis.disconnect();
    rmSync(directory, { recursive: true });
  });
  beforeEach(async () => {
    const { mongoUrl } = await testServers();
    await redis.flushdb();
    settings = { REDIS_URL: redisUrl, MONGODB_URL: freshMongoUrl(mongoUrl), KEY_PEPPER: first.pepper };
    mongo = await connectMongo(settings.MONGODB_URL ?? '', { name: 'test' });
  });
  afterEach(async function () {
    this.timeout(startTimeoutMs);
    await Promise.all(started.splice(0).map((each) => each.stop()));
    await mongo.database.dropDatabase();
    await mongo.client.close();
  });

  async function start(different: Settings = {}, kind: ServiceKind = 'gateway') {
    logs += 1;
    const file = join(directory, `${logs}.log`);
    const environment = {
      ...settings,
      ...{
        KEY_BRAND: undefined,
        KEY_PEPPER_PREVIOUS: undefined,
        KEY_PEPPER_CHANGED: undefined,
        HOST: undefined,
        LOG_LEVEL: 'warn',
      },
      ...{ PORT: '0', ADMIN_PORT: '0', CONSOLE_PORT: '0', CONSOLE_URL: undefined },
      ...different,
    };
    const log = () => readFileSync(file, 'utf8');
    const process = await startService({ kind, environment, log: openSync(file, 'w') }).catch(() => undefined);
    if (process !== undefined) {
      started.push(process);
      endWithThisProcess(process);
    }
    return { process, log };
  }

  async function startedWith(different: Settings = {}) {
    const { process, log } = await start(different);
    if (process === undefined) throw new Error(`the gateway did not start:\n${log()}`);
    return { process, log };
  }

  async function refusalOf(different: Settings, kind: ServiceKind = 'gateway'): Promise<string> {
    const { process, log } = await start(different, kind);
    expect(process, 'started').to.equal(undefined);
    return log();
  }

  /** The settings that differ from the stored ones. */
  const stored = (): Promise<KeySettingName[]> => new KeySettingsStore(mongo.database).compare(first);
  const key = async (different: Record<string, string> = {}): Promise<string> => {
    const own = { ...settings, ...different };
    const { org_id: organisation } = await cliDocument(['org', 'create', '--name', 'Acme', '--plan', 'pro'], own);
    return String((await cliDocument(['key', 'create', String(organisation)], own)).secret);
  };
  const statusOf = async (secret: string, { url }: ServiceProcess): Promise<number> =>
    (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${secret}` } })).status;

  /** All documents and indexes, and all values in Redis. */
  async function contents(): Promise<unknown> {
    const collections = await mongo.database.collections();
    const ofMongo = collections.map(async (each) => [
      each.collectionName,
      await each.find().sort({ _id: 1 }).toArray(),
      each.collectionName.startsWith('system.') ? [] : await each.indexes(),
    ]);
    const ofRedis = (await redis.keys('*')).sort().map(async (name) => [name, await redis.dumpBuffer(name)]);
    return JSON.stringify([(await Promise.all(ofMongo)).sort(), await Promise.all(ofRedis)]);
  }

  async function expectRefused(kind: ServiceKind, different: Settings, names: string, are: string): Promise<void> {
    const { process } = await startedWith();
    const secret = await key();
    expect(await statusOf(secret, process)).to.equal(200);
    await process.stop();
    // A process that starts writes them again.
    await redis.flushdb();
    await mongo.database.collection('audit_log').dropIndexes();
    const before = await contents();
    const log = await refusalOf(different, kind);
    expect(log).to.include(`${names} ${are} of the keys in this database, so they would all get 401`);
    expect(log).to.include(`Set the right ${names}. ${wayOut}`);
    expect(log).to.not.include(first.pepper).and.not.include(other.KEY_PEPPER);
    expect(await contents()).to.equal(before);
    expect(await statusOf(secret, (await startedWith()).process), 'with the right settings').to.equal(200);
  }

  return {
    ...{ startedWith, refusalOf, stored, key, statusOf, expectRefused },
    redis: () => redis,
    mongo: () => mongo,
    settings: () => settings,
  };
}
