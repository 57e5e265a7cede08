import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { dumpCollections, dumpKeys, loadFixture } from '../../scripts/release/fixture-data.js';
import { type ReleaseFixture, readFixture } from '../../scripts/release/fixture-file.js';
import { answerOf, settingsAt } from '../../scripts/release/recorded-answers.js';
import { endWithThisProcess, type ServiceKind, startService } from '../../scripts/servers/service-process.js';
import { startStack } from '../../scripts/servers/stack.js';
import { projectFile } from '../../shared/process/project-root.js';
import { ownLevel } from '../../shared/process/release.js';
import { connectMongo, type Db, type Mongo } from '../../shared/store/connection/connect.js';
import { migrateSchema } from '../../shared/store/schema/migrate-schema.js';
import { readSchemaState } from '../../shared/store/schema/schema-state.js';
import { cliDocument } from '../scripts/cli/cli-call.js';
import { failureOf } from '../support/failure-of.js';
import { dyingAfter } from '../support/scoring/dying-database.js';
import { freshDatabases, freshMongoUrl } from '../support/service/servers.js';
import { startTimeoutMs } from '../support/service/service.js';
import { isFullTier, runsOfTier } from '../support/tier.js';

describe('an installation of 0.1.0 that gets this release', () => {
  let directory: string;
  let fixture: ReleaseFixture;
  let mongo: Mongo;
  let redis: Redis;
  let urls: { readonly redisUrl: string; readonly mongoUrl: string };

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'leadscore-upgrade-'));
    fixture = await readFixture(projectFile('test/fixtures/releases/0.1.0.tar.gz'));
    urls = await freshDatabases();
    mongo = await connectMongo(urls.mongoUrl, { name: 'test' });
    // By its own clock MongoDB would remove what had not expired at the time of the release.
    await mongo.client.db('admin').command({ setParameter: 1, ttlMonitorEnabled: false });
    redis = new Redis(urls.redisUrl);
    await loadFixture(fixture, { database: mongo.database, redis });
  });
  after(async () => {
    redis.disconnect();
    await mongo.client.db('admin').command({ setParameter: 1, ttlMonitorEnabled: true });
    await mongo.client.close();
    rmSync(directory, { recursive: true });
  });

  const settings = () => ({
    ...settingsAt(Date.parse(fixture.about.writtenAt), fixture.about.pepper),
    LOWER_PRIORITY: 'no',
  });

  /** All that is stored, but the schema number. */
  async function stored(database: Db): Promise<unknown> {
    const collections = await dumpCollections(database);
    return collections.map(({ name, options, indexes, documents }) => ({
      ...{ name, options },
      indexes: sorted(indexes),
      documents: documents.filter((document) => JSON.parse(document)._id !== 'schema'),
    }));
  }

  /** The log of a process that does not start. */
  async function refusalOf(kind: ServiceKind): Promise<string> {
    const file = join(directory, `${kind}.log`);
    const { redisUrl: REDIS_URL, mongoUrl: MONGODB_URL } = urls;
    const environment = { ...settings(), REDIS_URL, MONGODB_URL, CONSOLE_PORT: '0' };
    expect(await failureOf(startService({ kind, environment, log: openSync(file, 'w') }))).to.be.instanceOf(Error);
    return readFileSync(file, 'utf8');
  }

  it('is the recorded one: the same documents, indexes and keys', async () => {
    const { collections, keys } = fixture;
    expect(collections.map(({ name }) => name)).to.include.members([
      ...['api_keys', 'audit_log', 'calls', 'erasures', 'idempotency', 'jobs', 'model_validation', 'orgs', 'outcomes'],
    ]);
    expect(keys.length).to.be.greaterThan(5);
    const loaded = new Map((await dumpCollections(mongo.database)).map((each) => [each.name, each]));
    for (const { name, documents, indexes } of collections) {
      expect(loaded.get(name)?.documents, name).to.deep.equal(documents);
      expect(sorted(loaded.get(name)?.indexes ?? ''), name).to.deep.equal(sorted(indexes));
    }
    // The others may have expired. Redis may write the fields of a value in another order.
    const lasting = keys.filter(({ ttlMs }) => ttlMs === 0 || ttlMs > 300_000).map(({ name }) => name);
    expect((await dumpKeys(redis)).map(({ name }) => name)).to.include.members(lasting);
  });

  it('refuses to start before the database is migrated, and changes nothing', async function () {
    this.timeout(startTimeoutMs);
    const before = await stored(mongo.database);
    for (const kind of ['gateway', 'worker', ...(isFullTier() ? (['console', 'bulk'] as const) : [])] as const)
      expect(await refusalOf(kind), kind).to.include('Run `npx leadscore migrate`');
    expect(await stored(mongo.database)).to.deep.equal(before);
  });

  it('says what it will do, and changes nothing, with --dry-run', async () => {
    const before = await stored(mongo.database);
    const { redisUrl: REDIS_URL, mongoUrl: MONGODB_URL } = urls;
    const { steps } = await cliDocument(['migrate', '--dry-run'], { REDIS_URL, MONGODB_URL });
    expect(steps).to.have.length(ownLevel);
    expect(await stored(mongo.database)).to.deep.equal(before);
  });

  it('ends in the same database when the migration was killed at many operations and begun again', async function () {
    this.timeout(120_000);
    const straight = await connectMongo(freshMongoUrl(urls.mongoUrl), { name: 'test' });
    try {
      const unused = redis.duplicate();
      await loadFixture({ ...fixture, keys: [] }, { database: straight.database, redis: unused });
      unused.disconnect();
      await migrateSchema(straight.database);
      const step = runsOfTier(4, 1);
      let killed = 0;
      for (let done = false; !done; killed += step) {
        const run = migrateSchema(dyingAfter(mongo.database, killed), { leaseMs: 20 });
        done = await run.then(
          () => true,
          (error: Error) => {
            expect(error.message).to.match(/killed/);
            return false;
          },
        );
      }
      expect(killed).to.be.greaterThan(20);
      expect(await readSchemaState(mongo.database)).to.include({ at: ownLevel });
      expect(await stored(mongo.database)).to.deep.equal(await stored(straight.database));
    } finally {
      await straight.database.dropDatabase();
      await straight.client.close();
    }
  });

  it('then answers each recorded call as the release did, at the time of the release', async function () {
    this.timeout(startTimeoutMs);
    const { about, answers } = fixture;
    const stack = await startStack({ ...urls, environment: settings() });
    for (const part of [...stack.gateways, stack.pool]) endWithThisProcess(part);
    try {
      for (const { status, text, ...call } of answers) {
        const found = await answerOf(stack.url, about.keys, call);
        expect({ ...call, status: found.status, text: found.text }).to.deep.equal({ ...call, status, text });
      }
    } finally {
      await stack.stop();
    }
  });
});

/** The indexes of a collection, which a server lists in any order. */
const sorted = (indexes: string): string[] =>
  JSON.parse(indexes)
    .map((index: object) => JSON.stringify(index))
    .sort();
