import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { FaultProxy } from '../../../scripts/servers/fault-proxy.js';
import type { Settings } from '../../../scripts/servers/service-process.js';
import {
  endWithThisProcess,
  type ServiceKind,
  type ServiceProcess,
  startService,
} from '../../../scripts/servers/service-process.js';
import { installationKey } from '../../../shared/redis/keys.js';
import { type KeySettingName, KeySettingsStore } from '../../../shared/store/accounts/key-settings.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { cliDocument } from '../../scripts/cli/cli-call.js';
import { failureOf } from '../../support/failure-of.js';
import { freshMongoUrl, testServers } from '../../support/service/servers.js';
import { startTimeoutMs } from '../../support/service/service.js';

const first = { brand: 'leadscore', pepper: 'the first pepper of a test' } as const;
const other = { KEY_PEPPER: 'the other pepper of a test' } as const;
const wayOut = 'To accept that all these keys are void, start once with KEY_PEPPER_CHANGED=yes.';

describe('KEY_PEPPER and KEY_BRAND of a starting process', () => {
  let directory: string;
  let settings: Record<string, string>;
  let redis: Redis;
  let mongo: Mongo;
  const started: ServiceProcess[] = [];
  let logs = 0;

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'leadscore-pepper-'));
    redis = new Redis((await testServers()).redisUrl);
  });
  after(() => {
    redis.disconnect();
    rmSync(directory, { recursive: true });
  });
  beforeEach(async () => {
    const { redisUrl, mongoUrl } = await testServers();
    await redis.flushall();
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
      ...{ KEY_BRAND: undefined, KEY_PEPPER_CHANGED: undefined, HOST: undefined, LOG_LEVEL: 'warn' },
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

  for (const [kind, different, names, are] of [
    ['gateway', other, 'KEY_PEPPER', 'is not that'],
    ['gateway', { KEY_BRAND: 'acme' }, 'KEY_BRAND', 'is not that'],
    ['gateway', { ...other, KEY_BRAND: 'acme' }, 'KEY_BRAND and KEY_PEPPER', 'are not those'],
    ['console', other, 'KEY_PEPPER', 'is not that'],
    ['console', { KEY_BRAND: 'acme' }, 'KEY_BRAND', 'is not that'],
  ] as const)
    it(`stop a ${kind} with another ${names}, which names both ways out and writes nothing`, async function () {
      this.timeout(3 * startTimeoutMs);
      const { process } = await startedWith();
      const secret = await key();
      expect(await statusOf(secret, process)).to.equal(200);
      await process.stop();
      // A process that starts writes them again.
      await redis.flushall();
      await mongo.database.collection('audit_log').dropIndexes();
      const before = await contents();
      const log = await refusalOf(different, kind);
      expect(log).to.include(`${names} ${are} of the keys in this database, so they would all get 401`);
      expect(log).to.include(`Set the right ${names}. ${wayOut}`);
      expect(log).to.not.include(first.pepper).and.not.include(other.KEY_PEPPER);
      expect(await contents()).to.equal(before);
      expect(await statusOf(secret, (await startedWith()).process), 'with the right settings').to.equal(200);
    });

  it('become those of the database with KEY_PEPPER_CHANGED=yes, which makes the earlier keys void', async function () {
    this.timeout(4 * startTimeoutMs);
    const before = await startedWith();
    const secret = await key();
    const changed = await startedWith({ ...other, KEY_PEPPER_CHANGED: 'yes' });
    expect(changed.log()).to.include('all keys made before are void');
    expect(await statusOf(secret, changed.process)).to.equal(401);
    expect(await statusOf(secret, before.process), 'a gateway that still runs').to.equal(200);
    expect(await stored()).to.deep.equal(['KEY_PEPPER']);
    expect((await failureOf(key())).message).to.include('the gateways would reject this key');
    expect(await refusalOf({}), 'the earlier pepper').to.include(wayOut);
    const after = await startedWith(other);
    expect(await statusOf(await key(other), after.process)).to.equal(200);
    const again = await startedWith({ ...other, KEY_PEPPER_CHANGED: 'yes' });
    expect(again.log()).to.include('a wrong KEY_PEPPER would not be noticed: remove KEY_PEPPER_CHANGED');
  });

  it('are not stored by a gateway that another check refuses', async function () {
    this.timeout(2 * startTimeoutMs);
    await (await startedWith()).process.stop();
    await redis.set(installationKey, 'another database');
    expect(await refusalOf({ ...other, KEY_PEPPER_CHANGED: 'yes' })).to.include('counts usage for another MongoDB');
    expect(await stored()).to.deep.equal([]);
  });

  it('are stored by the first start on a database that has keys, and none stored', async function () {
    this.timeout(3 * startTimeoutMs);
    await (await startedWith()).process.stop();
    const secret = await key();
    await mongo.database.collection<{ _id: string }>('settings').deleteOne({ _id: 'keys' });
    expect(await statusOf(secret, (await startedWith()).process)).to.equal(200);
    expect(await refusalOf(other)).to.include(wayOut);
  });

  it('are stored by one of two gateways that start at once, and the other one is refused', async function () {
    this.timeout(2 * startTimeoutMs);
    const target = new URL(settings.MONGODB_URL ?? '');
    const proxy = await FaultProxy.start(() => Number(target.port));
    try {
      // Held after its check, which found nothing.
      const held = proxy.next('createIndexes', 'held');
      const late = new URL(target);
      late.port = String(proxy.port);
      late.search = '?directConnection=true';
      const refusal = refusalOf({ ...other, MONGODB_URL: late.href });
      await held;
      await startedWith();
      proxy.release();
      expect(await refusal).to.include('KEY_PEPPER is not that of the keys in this database');
    } finally {
      await proxy.stop();
    }
    expect(await stored()).to.deep.equal([]);
  });

  it('are stored once of many claims at once', async () => {
    const store = new KeySettingsStore(mongo.database);
    const peppers = Array.from({ length: 20 }, (_, index) => `pepper ${index} of a test`);
    const claims = await Promise.all(peppers.map((pepper) => store.claim({ ...first, pepper })));
    expect(claims.filter((different) => different.length === 0)).to.have.length(1);
    const agreed = await Promise.all(peppers.map((pepper) => store.compare({ ...first, pepper })));
    expect(agreed).to.deep.equal(claims);
  });
});
