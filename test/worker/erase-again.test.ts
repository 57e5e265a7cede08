import { expect } from 'chai';
import type { Document } from 'mongodb';
import { callIdFloor } from '../../shared/identifiers.js';
import { callsCollection } from '../../shared/store/calls-collection.js';
import { connectMongo, type Mongo } from '../../shared/store/connect.js';
import { ErasureStore } from '../../shared/store/erasures.js';
import { IdempotencyStore } from '../../shared/store/idempotency.js';
import { OutcomeStore } from '../../shared/store/outcomes.js';
import { PredictionStore } from '../../shared/store/predictions.js';
import { prepareDatabase } from '../../shared/store/prepare.js';
import { ValidationDailyStore } from '../../shared/store/validation-daily.js';
import { eraseAgain } from '../../worker/erase-again.js';
import { freshDatabases } from '../support/servers.js';

const nowMs = Date.UTC(2026, 5, 30, 12);
const leaseMs = 30_000;
const organisationId = 'org_0000000000000001';

describe('leads that are erased once more', () => {
  let mongo: Mongo;
  let erasures: ErasureStore;
  let warnings: unknown[];

  beforeEach(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
    await prepareDatabase(mongo.database);
    erasures = new ErasureStore(mongo.database);
    warnings = [];
  });
  afterEach(() => mongo.client.close());

  const documents = () => mongo.database.collection<Document & { _id: string }>(callsCollection);
  const erase = () =>
    eraseAgain(
      {
        erasures,
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
});
