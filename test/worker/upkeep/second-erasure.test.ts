import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { Document } from 'mongodb';
import { callIdFloor, organisationNumber } from '../../../shared/contract/identifiers.js';
import { LatestScores } from '../../../shared/latest-scores/latest-scores.js';
import { latestScoresKey } from '../../../shared/redis/keys.js';
import { ErasureStore, erasingStores, leadHash } from '../../../shared/store/calls/erasures.js';
import { callsCollection } from '../../../shared/store/calls/prediction-segment.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { eraseAgain } from '../../../worker/upkeep/second-erasure.js';
import { freshDatabases } from '../../support/service/servers.js';
import { itInFull } from '../../support/tier.js';

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
  const erase = (signal?: AbortSignal) =>
    eraseAgain(
      {
        erasures,
        latest: new LatestScores(redis),
        ...erasingStores(mongo.database),
        logger: { warn: (fields: unknown) => void warnings.push(fields) },
      },
      { nowMs, ...(signal === undefined ? {} : { signal }) },
    );
  const atMs = nowMs - 2 * leaseMs;
  const called = (name: string, org = organisationId) => `${callIdFloor(atMs - 1, org)}${name}`;
  const columns = {
    org: organisationId,
    o: organisationNumber(organisationId),
    at: new Date(atMs),
    arrived_at: new Date(atMs),
  };
  const ofOne = { fields: ['x'], scores: [1], likelihoods: [1], erased: 0 };
  const asked = async (crmId: string, { org = organisationId, wasKnown = true } = {}) => {
    const lead = { organisationId: org, crmId };
    const hash = leadHash(lead, 'a pepper of sixteen');
    await erasures.add(lead, { hash, atMs, dueMs: atMs + leaseMs, wasKnown });
  };
  const leftDue = async () =>
    await mongo.database.collection('erasures').distinct('crm_id', { due_at: { $exists: true } });

  it('do not wait for one that cannot be erased, which is tried again five minutes later', async () => {
    // The ids of the first document are no list: an erasure cannot go through them.
    await documents().insertOne({ _id: called('damaged'), ...columns, ...ofOne, crm_ids: 'L-1' });
    await documents().insertOne({ _id: called('sound'), ...columns, ...ofOne, crm_ids: ['L-2'] });
    for (const crmId of ['L-1', 'L-2']) await asked(crmId);

    expect(await erase()).to.equal(1);
    expect((await documents().findOne({ _id: called('sound') }))?.crm_ids).to.deep.equal([null]);
    expect(await leftDue()).to.deep.equal(['L-1']);
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.include({ leads: 1 });
    expect(await erase(), 'before it is due again').to.equal(0);

    await documents().updateOne({ _id: called('damaged') }, { $set: { crm_ids: ['L-1'] } });
    await mongo.database.collection('erasures').updateOne({ crm_id: 'L-1' }, { $set: { due_at: new Date(nowMs) } });
    expect(await erase()).to.equal(1);
    expect(await leftDue()).to.deep.equal([]);
  });

  itInFull(
    'are all erased in one job, in turns of their organisations, also when those of one fail',
    async function () {
      this.timeout(60_000); // on a busy machine, 1,200 erasures take longer than the usual 20 s
      const other = 'org_zzzzzzzzzzzzzzzz';
      const ofOther = { ...columns, org: other, o: organisationNumber(other), ...ofOne };
      const damaged = Array.from({ length: 100 }, (_, lead) => `D-${lead}`);
      await documents().insertOne({ _id: called('other', other), ...ofOther, crm_ids: ['L-1'] });
      await documents().insertMany(
        damaged.map((crmId) => ({ _id: called(crmId), ...columns, ...ofOne, crm_ids: crmId })),
      );
      const due = { erased_at: new Date(atMs), due_at: new Date(atMs + leaseMs), was_known: true };
      const leads = Array.from({ length: 1_100 }, (_, lead) => ({ org: other, crm_id: `L-${lead}`, ...due }));
      const failing = damaged.map((crm_id) => ({ org: organisationId, crm_id, ...due }));
      const named = [...failing, ...leads].map((erasure) => ({ ...erasure, _id: erasure.crm_id }));
      await mongo.database.collection<{ _id: string }>('erasures').insertMany(named);
      expect(await erase()).to.equal(1_100);
      expect(await leftDue()).to.have.members(damaged);
      expect(warnings[0]).to.include({ leads: 100 });
      expect((await documents().findOne({ _id: called('other', other) }))?.crm_ids).to.deep.equal([null]);
    },
  );

  it('are left to the next job when the signal is aborted', async () => {
    await asked('L-1');
    expect(await erase(AbortSignal.abort())).to.equal(0);
    expect(await erase()).to.equal(1);
  });

  it('lose what calls stored that had arrived before the erasure, by whatever clock their ids were made', async () => {
    const hourMs = 60 * 60 * 1_000;
    const call = (arrivedMs: number, idMs: number) => ({
      ...columns,
      ...ofOne,
      _id: callIdFloor(idMs, organisationId).padEnd(26, '0'),
      at: new Date(idMs),
      arrived_at: new Date(arrivedMs),
      crm_ids: ['L-1'],
    });
    await documents().insertMany([call(atMs - 1, atMs + hourMs), call(atMs + 1, atMs - hourMs)]);
    await asked('L-1');
    expect(await erase()).to.equal(1);
    const kept = await documents().find({ crm_ids: 'L-1' }).toArray();
    expect(kept.map((document) => document.arrived_at.getTime())).to.deep.equal([atMs + 1]);
  });

  it('are known by a hash afterwards, unless nothing was ever stored of them', async () => {
    await asked('L-1');
    await asked('L-2', { wasKnown: false });
    await asked('L-3', { wasKnown: false });
    await documents().insertOne({ _id: called('late'), ...columns, ...ofOne, crm_ids: ['L-3'] });
    expect(await erase()).to.equal(3);
    const hashOf = (crmId: string) => leadHash({ organisationId, crmId }, 'a pepper of sixteen');
    const kept = { org: organisationId, erased_at: new Date(atMs), was_known: true };
    expect(await mongo.database.collection('erasures').find().toArray()).to.have.deep.members(
      ['L-1', 'L-3'].map((crmId) => ({ _id: hashOf(crmId), ...kept })),
    );
  });

  it('stay due when they were erased again meanwhile', async () => {
    await asked('L-1');
    const [due] = await erasures.dueAfter('', nowMs, 1);
    const lead = { organisationId, crmId: 'L-1' };
    const hash = leadHash(lead, 'a pepper of sixteen');
    await erasures.add(lead, { hash, atMs: nowMs, dueMs: nowMs + leaseMs, wasKnown: false });
    if (due === undefined) throw new Error('no erasure is due');
    await erasures.end(due, true);
    expect(await erasures.dueAfter('', nowMs, 1)).to.deep.equal([]);
    expect((await erasures.dueAfter('', nowMs + leaseMs, 1)).map(({ crm_id }) => crm_id)).to.deep.equal(['L-1']);
  });

  it('are not due again when one job puts them off after another has ended them', async () => {
    await asked('L-1');
    await documents().insertOne({ _id: called('other'), ...columns, ...ofOne, crm_ids: ['L-2'] });
    const [due] = await erasures.dueAfter('', nowMs, 1);
    if (due === undefined) throw new Error('no erasure is due');
    expect(await erase()).to.equal(1);
    await erasures.putOff(due, nowMs);
    expect(await erase()).to.equal(0);
    expect((await documents().findOne({ _id: called('other') }))?.crm_ids).to.deep.equal(['L-2']);
  });

  it('are no longer named in Redis, and calls from before the erasure store nothing', async () => {
    const latest = new LatestScores(redis);
    const crmIds = ['L-1', 'L-2'];
    await asked('L-1');
    const read = () => latest.read({ organisationId, modelId: 'mdl_A', version: '1', crmIds });
    const before = await read(); // makes the hash
    const item = `${callIdFloor(nowMs - leaseMs, organisationId).padEnd(26, '0')}0000007001`;
    await redis.hset(latestScoresKey(organisationId), { 'L-1': item, 'L-2': item });

    expect(await erase()).to.equal(1);
    const { epoch, leads } = await read();
    expect(leads.map((known) => known !== undefined)).to.deep.equal([false, true]);
    expect(epoch).to.be.a('string').and.not.equal(before.epoch);
  });
});
