import { expect } from 'chai';
import type { Document } from 'mongodb';
import { callIdGenerator, organisationNumber } from '../../../../shared/contract/identifiers.js';
import { callsCollection, segmentsOf } from '../../../../shared/store/calls/prediction-segment.js';
import { PredictionStore } from '../../../../shared/store/calls/predictions.js';
import { readRecentScores } from '../../../../shared/store/calls/recent-scores.js';
import { connectMongo, createClustered, type Mongo } from '../../../../shared/store/connection/connect.js';
import { indexByNumber, indexByText, leadIndexOf } from '../../../../shared/store/lead-index/lead-index.js';
import { prepareCalls } from '../../../../shared/store/lead-index/prepare-calls.js';
import { failureOf } from '../../../support/failure-of.js';
import { freshDatabases } from '../../../support/service/servers.js';

const newCallId = callIdGenerator();
const crmId = 'L-1';
const timeoutMs = 5_000;

describe('the lead index', () => {
  let mongo: Mongo;
  let nowMs = Date.UTC(2026, 10, 1);

  beforeEach(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
  });
  afterEach(() => mongo.client.close());

  const calls = () => mongo.database.collection<{ _id: string }>(callsCollection);
  /** Storage options of an index; undefined for the defaults, null without the index. */
  async function storageOf(key: object): Promise<unknown> {
    const found = (await calls().indexes()).find((index) => JSON.stringify(index.key) === JSON.stringify(key));
    return found === undefined ? null : found.storageEngine;
  }
  const smallPages = { wiredTiger: { configString: 'leaf_page_max=4KB' } };

  async function record(org: string, model: string, score: number): Promise<void> {
    nowMs += 1_000;
    const call = { callId: newCallId(nowMs, org), org, model, version: '1', at: new Date(nowMs) };
    const columns = { crmIds: [crmId], scores: [score], likelihoods: [1], fields: ['[]'] };
    await calls().insertMany(segmentsOf({ ...call, ...columns }));
  }

  it('has small pages and a number in a new database, whose collection is not clustered', async () => {
    await Promise.all([prepareCalls(mongo.database), prepareCalls(mongo.database)]);
    await prepareCalls(mongo.database);
    expect(await storageOf(indexByNumber.key)).to.deep.equal(smallPages);
    expect(await storageOf(indexByText.key)).to.equal(null);
    expect((await calls().options()).clusteredIndex).to.equal(undefined);
    expect(await leadIndexOf(mongo.database)).to.equal(indexByNumber);
  });

  it('misses no segment in a new database: MongoDB refuses one without a number', async () => {
    await prepareCalls(mongo.database);
    const segment = { org: 'org_a', crm_ids: [crmId] };
    const refused = await failureOf(calls().insertOne({ _id: 'a', ...segment } as { _id: string }));
    expect(refused).to.have.property('code', 121);
    await calls().insertOne({ _id: 'a', ...segment, o: organisationNumber('org_a') } as { _id: string });
    await calls().insertOne({ _id: 'b', org: 'org_a', records: 1 } as { _id: string });
    // As after the end of retention.
    await calls().updateOne({ _id: 'a' }, { $unset: { crm_ids: 1, o: 1 } });
  });

  it('stays as it is in an existing database, also with pages of the default size', async () => {
    await createClustered(mongo.database, callsCollection);
    await calls().createIndex(indexByText.key);
    await prepareCalls(mongo.database);
    expect(await storageOf(indexByText.key)).to.equal(undefined);
    expect(await storageOf(indexByNumber.key)).to.equal(null);
    expect(await leadIndexOf(mongo.database)).to.equal(indexByText);
    expect(await mongo.database.collection('settings').countDocuments()).to.equal(0);
  });

  it('keeps apart two organisations whose ids begin with the same six characters', async () => {
    await prepareCalls(mongo.database);
    const [one, other] = ['org_Same00aaaaaaaaaa', 'org_Same00bbbbbbbbbb'] as const;
    expect(organisationNumber(one)).to.equal(organisationNumber(other));
    await mongo.database.collection<Document & { _id: string }>('orgs').insertMany([{ _id: one }, { _id: other }]);
    for (let call = 0; call < 10; call += 1) {
      await record(one, call % 2 === 0 ? 'mdl_a' : 'mdl_b', call);
      await record(other, 'mdl_c', 100 - call);
    }
    const predictions = new PredictionStore(mongo.database);
    const ask = { organisationId: one, crmIds: [crmId], timeoutMs };
    const page = { organisationId: one, crmId, modelId: undefined, before: undefined, limit: 50, timeoutMs };
    const { scores } = await predictions.history(page);
    expect(scores.map(({ score }) => score)).to.deep.equal([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    const [latest] = (await predictions.latest({ ...ask, modelId: 'mdl_a' })).values();
    expect(latest).to.deep.equal({ latestId: scores[0]?.id, own: { id: scores[1]?.id, score: 8 } });
    const recent = await readRecentScores(mongo.database, { ...ask, mostScores: 3 });
    expect(recent.get(crmId)).to.deep.include({ model: 'mdl_b', models: 2, scores: [9, 7, 5] });
    for (const { _id } of await predictions.segmentsWith({ organisationId: one, crmId }, 100))
      await predictions.erase({ organisationId: one, crmId }, [_id]);
    expect(await predictions.knows(one, crmId)).to.equal(false);
    expect((await predictions.history({ ...page, organisationId: other })).scores).to.have.length(10);
  });
});
