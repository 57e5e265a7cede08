import { expect } from 'chai';
import { Redis } from 'ioredis';
import { dumpCollections, dumpKeys, loadFixture } from '../../../scripts/release/fixture-data.js';
import { type ReleaseFixture, readFixture } from '../../../scripts/release/fixture-file.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { ownDatabases } from '../../support/service/servers.js';

describe('the fixture of a release', () => {
  let fixture: ReleaseFixture;
  let mongo: Mongo;
  let redis: Redis;
  let urls: { readonly redisUrl: string; readonly mongoUrl: string };

  before(async () => {
    fixture = await readFixture(projectFile('test/fixtures/releases/0.1.0.tar.gz'));
    urls = await ownDatabases();
    mongo = await connectMongo(urls.mongoUrl, { name: 'test' });
    await mongo.client.db('admin').command({ setParameter: 1, ttlMonitorEnabled: false });
    redis = new Redis(urls.redisUrl);
    await loadFixture(fixture, { database: mongo.database, redis });
  });
  after(async () => {
    redis.disconnect();
    await mongo.client.db('admin').command({ setParameter: 1, ttlMonitorEnabled: true });
    await mongo.client.close();
  });

  it('loads into empty servers with the same documents, indexes and keys', async () => {
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
});

const sorted = (indexes: string): unknown[] =>
  JSON.parse(indexes).sort((one: { name: string }, other: { name: string }) => (one.name < other.name ? -1 : 1));
