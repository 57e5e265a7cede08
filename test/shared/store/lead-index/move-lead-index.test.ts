import { expect } from 'chai';
import { Redis } from 'ioredis';
import { loadFixture } from '../../../../scripts/release/fixture-data.js';
import { type ReleaseFixture, readFixture } from '../../../../scripts/release/fixture-file.js';
import { searchLeads } from '../../../../shared/admin/leads/read-leads.js';
import { projectFile } from '../../../../shared/process/project-root.js';
import { type ErasingStores, eraseLead, erasingStores } from '../../../../shared/store/calls/erasures.js';
import { callsCollection, type PredictionSegment } from '../../../../shared/store/calls/prediction-segment.js';
import { PredictionStore } from '../../../../shared/store/calls/predictions.js';
import { connectMongo, type Mongo } from '../../../../shared/store/connection/connect.js';
import { indexByNumber, indexByText, leadIndexOf } from '../../../../shared/store/lead-index/lead-index.js';
import { moveLeadIndex, readLeadIndexState } from '../../../../shared/store/lead-index/move-lead-index.js';
import { migrateSchema } from '../../../../shared/store/schema/migrate-schema.js';
import { adminDesk } from '../../../support/admin/admin-desk.js';
import { failureOf } from '../../../support/failure-of.js';
import { dyingAfter } from '../../../support/scoring/dying-database.js';
import { freshDatabases } from '../../../support/service/servers.js';

const timeoutMs = 10_000;

describe('a database of 0.1.0 that moves to the smaller lead index', () => {
  let fixture: ReleaseFixture;
  let mongo: Mongo;
  let mongoUrl: string;

  before(async () => {
    fixture = await readFixture(projectFile('test/fixtures/releases/0.1.0.tar.gz'));
  });
  beforeEach(async () => {
    const databases = await freshDatabases();
    mongoUrl = databases.mongoUrl;
    mongo = await connectMongo(mongoUrl, { name: 'test' });
    const redis = new Redis(databases.redisUrl);
    await loadFixture({ ...fixture, keys: [] }, { database: mongo.database, redis });
    redis.disconnect();
    await migrateSchema(mongo.database);
  });
  afterEach(() => mongo.client.close());

  const calls = () => mongo.database.collection<PredictionSegment>(callsCollection);

  /** The results of all reads by the lead index, on a connection that has cached nothing. */
  async function read(): Promise<unknown> {
    const { client, database } = await connectMongo(mongoUrl, { name: 'test' });
    const { organisationId, modelIds } = fixture.about;
    const predictions = new PredictionStore(database);
    const leads = (
      await calls()
        .find({ scores: { $exists: true } })
        .toArray()
    ).flatMap(({ crm_ids: ids }) => ids);
    const crmIds = [...new Set(leads.filter((id) => id !== null)), 'never scored', 'LEAD-0299'].sort();
    try {
      const histories: unknown[] = [];
      for (const crmId of crmIds.filter((_, lead) => lead % 10 === 0)) {
        const page = { organisationId, crmId, modelId: undefined, before: undefined, limit: 100, timeoutMs };
        histories.push([crmId, await predictions.history(page), await predictions.knows(organisationId, crmId)]);
      }
      const latest: unknown[] = [];
      for (const modelId of modelIds) {
        const query = { organisationId, modelId, crmIds, timeoutMs };
        latest.push([...(await predictions.latest(query))].sort(), [...(await predictions.latestOwn(query))].sort());
        for (const lead of crmIds.slice(0, 5))
          latest.push([...(await predictions.latestOwn({ ...query, crmIds: [lead] }))]);
      }
      const among = [...(await predictions.scoredAmong({ organisationId, crmIds }, timeoutMs))].sort();
      const near = await predictions.scoredLeadNear({ organisationId, crmId: 'LEAD-0150x' }, timeoutMs);
      return { histories, latest, among, near };
    } finally {
      await client.close();
    }
  }

  it('reads the same before, during and after, when the command was killed at any step', async function () {
    this.timeout(120_000);
    const expected = await read();
    expect(JSON.stringify(expected)).to.have.length.above(10_000);
    let done = false;
    let killed = 0;
    for (; !done; killed += 1) {
      const error = await failureOf(
        moveLeadIndex(dyingAfter(mongo.database, killed), { settleMs: 0 }).then(() => {
          done = true;
          throw new Error('killed: not this time');
        }),
      );
      expect(error)
        .to.have.property('message')
        .that.matches(/^killed/);
      if (killed % 3 === 0) expect(await read(), `killed at operation ${killed}`).to.deep.equal(expected);
    }
    expect(killed).to.be.greaterThan(8);
    expect(await read()).to.deep.equal(expected);
    expect(await readLeadIndexState(mongo.database)).to.deep.equal({ step: 'complete', hasOld: false });
    expect(await leadIndexOf(mongo.database)).to.equal(indexByNumber);
    expect(await calls().countDocuments({ crm_ids: { $exists: true }, o: { $exists: false } })).to.equal(0);
    expect(await calls().countDocuments({ o: { $type: 'int' } })).to.be.greaterThan(3);
    expect((await calls().options()).clusteredIndex, 'stays clustered').to.be.an('object');
    expect(await moveLeadIndex(mongo.database, { settleMs: 0 }), 'once more').to.equal(0);
    await migrateSchema(mongo.database, { again: true });
    const keys = (await calls().indexes()).map(({ key }) => JSON.stringify(key));
    expect(keys).to.include(JSON.stringify(indexByNumber.key)).and.not.include(JSON.stringify(indexByText.key));
  });

  it('misses nothing that an older gateway writes: before the first step it gets its number, then MongoDB refuses it', async () => {
    const some = await calls().findOne({ scores: { $exists: true } });
    if (some === null) throw new Error('the fixture has no segment');
    // A gateway of 0.1.0 writes the same without a number.
    const older = (_id: string, crmId: string) => ({ ...some, _id, crm_ids: [crmId], scores: [7], likelihoods: [7] });
    await calls().insertOne(older(`${some._id.slice(0, -1)}~`, 'OLDER-1'));
    await moveLeadIndex(mongo.database, { settleMs: 0 });
    const { organisationId } = fixture.about;
    const predictions = new PredictionStore(mongo.database);
    expect(await predictions.knows(organisationId, 'OLDER-1')).to.equal(true);
    const refused = await failureOf(calls().insertOne(older(`${some._id.slice(0, -1)}!`, 'OLDER-2')));
    expect(refused).to.have.property('code', 121);
  });

  it('erases and searches leads also while it has numbers for a part of its segments', async () => {
    const { organisationId } = fixture.about;
    const desk = await adminDesk({}, Promise.resolve({ ...(await freshDatabases()), mongoUrl }));
    try {
      const found = async () =>
        (await desk.act(searchLeads, { org_id: organisationId, prefix: 'LEAD-001' })).leads.map(({ crm_id }) => crm_id);
      const before = await found();
      expect(before).to.have.length(10);
      // Dies after the rule was set, before any segment has its number.
      await failureOf(moveLeadIndex(dyingAfter(desk.database, 5), { settleMs: 0 }));
      expect((await readLeadIndexState(mongo.database)).step).to.equal('filling');
      const stores: ErasingStores = erasingStores(desk.database);
      expect(await eraseLead(stores, { organisationId, crmId: 'LEAD-0010' })).to.equal(true);
      expect(await found()).to.deep.equal(before.slice(1));
      await moveLeadIndex(desk.database, { settleMs: 0 });
      expect(await eraseLead(stores, { organisationId, crmId: 'LEAD-0011' })).to.equal(true);
      expect(await found()).to.deep.equal(before.slice(2));
    } finally {
      await desk.leave();
    }
  });
});
