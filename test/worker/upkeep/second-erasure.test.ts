import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { Document } from 'mongodb';
import { callIdFloor } from '../../../shared/contract/identifiers.js';
import { LatestScores } from '../../../shared/latest-scores/latest-scores.js';
import { latestScoresKey } from '../../../shared/redis/keys.js';
import { ErasureStore } from '../../../shared/store/calls/erasures.js';
import { IdempotencyStore } from '../../../shared/store/calls/idempotency.js';
import { callsCollection } from '../../../shared/store/calls/prediction-slice.js';
import { PredictionStore } from '../../../shared/store/calls/predictions.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { OutcomeStore } from '../../../shared/store/validation/outcomes.js';
import { ValidationDailyStore } from '../../../shared/store/validation/validation-daily.js';
import { eraseAgain } from '../../../worker/upkeep/second-erasure.js';
import { freshDatabases } from '../../support/service/servers.js';

const nowMs = Date.UTC(2026, 5, 30, 12);
const leaseMs = 30_000;
const organisationId = 'org_0000000000000001';

describe('leads that are erased once more', () => {
  let mongo: Mongo;
  let redis: Redis;
  let erasures: ErasureStore;
  let warnings: unknown[];

  beforeEach(async () => {
    const { mongoUrl, redisUrl } = await freshDatabases();
    mongo = await connectMongo(mongoUrl, { name: 'test' });
    redis = new Redis(redisUrl);
    await prepareDatabase(mongo.database);
    erasures = new ErasureStore(mongo.database);
    warnings = [];
  });
  afterEach(async () => {
    redis.disconnect();
    await mongo.client.close();
  });

  const documents = () => mongo.database.collection<Document & { _id: string }>(callsCollection);
  const erase = () =>
    eraseAgain(
      {
        erasures,
        latest: new LatestScores(redis),
        predictions: new PredictionStore(mongo.database),
        outcomes: new OutcomeStore(mongo.database),
        daily: new ValidationDailyStore(mongo.database),
        idempotency: new IdempotencyStore(mongo.database),
        logger: { warn: (fields: unknown) => void warnings.push(fields) },
      },
      { nowMs, leaseMs },
    );

  it('do not wait for one that cannot be erased, which is tried again the next time', async () => {
    const atMs = nowMs - 2 * leaseMs;
    const at = new Date(atMs);
    const called = (name: string) => `${callIdFloor(atMs - 1)}${name}`;
    const columns = { org: organisationId, at, fields: ['x'], scores: [1], likelihoods: [1], erased: 0 };
    // Its ids are no list: an erasure cannot go through them.
    await documents().insertOne({ _id: called('damaged'), ...columns, crm_ids: 'L-1' });
    await documents().insertOne({ _id: called('sound'), ...columns, crm_ids: ['L-2'] });
    for (const crmId of ['L-1', 'L-2']) await erasures.begin({ organisationId, crmId, nowMs: atMs });

    expect(await erase()).to.equal(1);
    expect((await documents().findOne({ _id: called('sound') }))?.crm_ids).to.deep.equal([null]);
    expect((await erasures.upTo(nowMs)).map(({ crm_id }) => crm_id)).to.deep.equal(['L-1']);
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.include({ leads: 1 });

    await documents().updateOne({ _id: called('damaged') }, { $set: { crm_ids: ['L-1'] } });
    expect(await erase()).to.equal(1);
    expect(await erasures.upTo(nowMs)).to.deep.equal([]);
  });

  it('are no longer named in Redis, and calls from before the erasure store nothing', async () => {
    const latest = new LatestScores(redis);
    const crmIds = ['L-1', 'L-2'];
    await erasures.begin({ organisationId, crmId: 'L-1', nowMs: nowMs - 2 * leaseMs });
    const read = () => latest.read({ organisationId, modelId: 'mdl_A', crmIds });
    const before = await read(); // makes the hash
    const item = `${callIdFloor(nowMs - leaseMs).padEnd(26, '0')}0000007001`;
    await redis.hset(latestScoresKey(organisationId), { 'L-1': item, 'L-2': item });

    expect(await erase()).to.equal(1);
    const { epoch, leads } = await read();
    expect(leads.map((known) => known !== undefined)).to.deep.equal([false, true]);
    expect(epoch).to.be.a('string').and.not.equal(before.epoch);
  });
});
