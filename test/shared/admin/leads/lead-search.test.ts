import { expect } from 'chai';
import type { Document } from 'mongodb';
import { eraseLead } from '../../../../shared/admin/leads/erase-lead.js';
import { searchLeads } from '../../../../shared/admin/leads/read-leads.js';
import { createOrganisation } from '../../../../shared/admin/organisations/change-organisations.js';
import { checkBundle } from '../../../../shared/bundle/check-bundle.js';
import { callIdGenerator } from '../../../../shared/contract/identifiers.js';
import {
  callsCollection,
  type PredictionSegment,
  segmentsOf,
} from '../../../../shared/store/calls/prediction-segment.js';
import { readRecentScores } from '../../../../shared/store/calls/recent-scores.js';
import { type Model, ModelStore } from '../../../../shared/store/models/models.js';
import { createModel } from '../../../../shared/store/models/store-version.js';
import { type AdminDesk, adminDesk } from '../../../support/admin/admin-desk.js';
import { sampleBundle } from '../../../support/models/sample-bundle.js';
import { removePredictions } from '../../../support/service/prediction-rows.js';

const mebibyte = 1024 * 1024;
const timeoutMs = 10_000;

/** One call; each record is a lead and its score. */
interface Scored {
  readonly records: readonly (readonly [crmId: string | null, score: number])[];
  readonly model?: string;
  readonly fields?: string;
  readonly org?: string;
}

describe('the search of leads', () => {
  let desk: AdminDesk;
  let org: string;
  let model: Model;
  let atMs = Date.UTC(2026, 10, 1);
  const newCallId = callIdGenerator();

  before(async () => {
    // The entries of reads cost queries of their own.
    desk = await adminDesk({ auditsReads: false });
  });
  beforeEach(async () => {
    org = (await desk.act(createOrganisation, { name: 'Acme', plan: 'pro' })).org_id;
    model = await newModel();
  });
  after(() => desk.leave());

  const calls = () => desk.database.collection<PredictionSegment>(callsCollection);
  const newModel = (name = 'Conversion') => {
    const bundle = checkBundle(sampleBundle({ name }));
    return createModel(desk.database, { organisationId: org, bundle, now: new Date() });
  };
  const search = async (prefix: string) => (await desk.act(searchLeads, { org_id: org, prefix })).leads;

  /** The documents of a call, a minute after the one before. */
  function documents({ records, model: by = model._id, fields = '[]', org: owner = org }: Scored) {
    atMs += 60_000;
    const columns = {
      crmIds: records.map(([crmId]) => crmId),
      scores: records.map(([, score]) => score),
      likelihoods: records.map(() => 1_234),
      fields: records.map(() => fields),
    };
    const callId = newCallId(atMs, owner);
    return segmentsOf({ callId, org: owner, model: by, version: '1.0.0', at: new Date(atMs), ...columns });
  }
  const record = (scored: Scored) => calls().insertMany(documents(scored));

  it('shows the latest score of each lead, its model and day, and the scores before it, oldest first', async () => {
    for (let score = 1; score <= 15; score += 1) await record({ records: [['LEAD-1', score]] });
    const scoredAt = new Date(atMs).toISOString();
    await record({
      records: [
        ['LEAD-2', 70],
        [null, 1],
        ['LEAD-2', 80],
      ],
    });
    expect(await search('LEAD')).to.deep.equal([
      {
        crm_id: 'LEAD-1',
        latest: {
          ...{ model_id: model._id, model_name: 'Conversion', version: '1.0.0', score: 15, scored_at: scoredAt },
          ...{ scores: [11, 12, 13, 14, 15], other_models: 0 },
        },
      },
      {
        crm_id: 'LEAD-2',
        latest: {
          ...{ model_id: model._id, model_name: 'Conversion', version: '1.0.0', score: 80 },
          ...{ scored_at: new Date(atMs).toISOString(), scores: [70, 80], other_models: 0 },
        },
      },
    ]);
  });

  it('shows of several models the one that scored last, and its scores alone', async () => {
    const other = await newModel('Expansion');
    await record({ records: [['LEAD-1', 10]] });
    await record({ records: [['LEAD-1', 20]], model: other._id });
    await record({ records: [['LEAD-1', 30]] });
    const latest = async () => (await search('LEAD-1'))[0]?.latest;
    expect(await latest()).to.deep.include({ model_name: 'Conversion', scores: [10, 30], other_models: 1 });
    await record({ records: [['LEAD-1', 40]], model: other._id });
    expect(await latest()).to.deep.include({ model_name: 'Expansion', scores: [20, 40], other_models: 1 });
    await new ModelStore(desk.database).update(other._id, { deleted_at: new Date() });
    expect(await latest()).to.deep.include({ model_id: other._id, model_name: null, score: 40 });
  });

  it('finds no score of another organisation, of a test key, of an erased lead, or past retention', async () => {
    const own = org;
    await record({
      records: [
        ['LEAD-1', 10],
        ['LEAD-2', 20],
      ],
    });
    const { org_id: other } = await desk.act(createOrganisation, { name: 'Beta', plan: 'pro' });
    await record({
      records: [
        ['LEAD-1', 99],
        ['LEAD-3', 99],
      ],
      org: other,
    });
    const testCall = { _id: newCallId(atMs, own), org: own, bucket: 'test', records: 1, at: new Date(atMs) };
    await desk.database.collection<Document & { _id: string }>(callsCollection).insertOne(testCall);
    const found = async () => (await search('LEAD')).map(({ crm_id, latest }) => [crm_id, latest?.score]);
    expect(await found()).to.deep.equal([
      ['LEAD-1', 10],
      ['LEAD-2', 20],
    ]);
    await desk.act(eraseLead, { org_id: own, crm_id: 'LEAD-1' });
    expect(await found()).to.deep.equal([['LEAD-2', 20]]);
    const ask = { organisationId: own, crmIds: ['LEAD-1', 'LEAD-2'], mostScores: 10, timeoutMs };
    expect([...(await readRecentScores(desk.database, ask)).keys()]).to.deep.equal(['LEAD-2']);
    await removePredictions(desk.database, own);
    expect(await found()).to.deep.equal([]);
  });

  it('shows what the whole history would show, for leads of any calls and models', async () => {
    const models = ['mdl_a', 'mdl_b', 'mdl_c'];
    const newest = new Map<string, { model: string; score: number }[]>();
    for (let call = 0; call < 80; call += 1) {
      // 130 records are two segments.
      const size = call % 20 === 0 ? 130 : 1 + ((call * 7) % 5);
      const by = models[(call * call) % 3] ?? '';
      const records = Array.from({ length: size }, (_, row) => {
        const lead = `LEAD-${(call * 5 + row * 3) % 11}`;
        const score = (call * 31 + row) % 101;
        newest.set(lead, [{ model: by, score }, ...(newest.get(lead) ?? [])]);
        return [lead, score] as const;
      });
      await record({ records, model: by });
    }
    const found = await search('LEAD');
    expect(found).to.have.length(11);
    for (const { crm_id: lead, latest } of found) {
      const history = newest.get(lead) ?? [];
      const own = history.filter((each) => each.model === history[0]?.model).slice(0, 5);
      expect(latest?.model_id, lead).to.equal(history[0]?.model);
      expect(latest?.scores, lead).to.deep.equal(own.map(({ score }) => score).reverse());
      expect(latest?.other_models, lead).to.equal(new Set(history.map((each) => each.model)).size - 1);
    }
  });

  it('shows the latest score alone once the calls of the leads before were large', async () => {
    const large = JSON.stringify('x'.repeat(14 * mebibyte));
    for (let score = 1; score <= 5; score += 1) await record({ records: [['BIG-1', score]], fields: large });
    for (const score of [50, 60]) await record({ records: [['BIG-2', score]] });
    const [one, other] = await search('BIG');
    expect(one?.latest?.scores).to.deep.equal([1, 2, 3, 4, 5]);
    expect(other?.latest?.scores).to.deep.equal([60]);
    await calls().deleteMany({ org });
  });

  it('reads a bounded part of the index and few documents, however long the histories are', async () => {
    const [leads, models, mostScores] = [20, 3, 5];
    const records = Array.from({ length: leads }, (_, lead) => [`LEAD-${lead + 10}`, lead] as const);
    const examined = async () => {
      const { metrics } = await desk.database.admin().command({ serverStatus: 1, repl: 0, locks: 0 });
      return metrics.queryExecutor as { scanned: number; scannedObjects: number; collectionScans: { total: number } };
    };
    const costOnce = async () => {
      const before = await examined();
      expect((await search('LEAD')).map(({ latest }) => latest?.scores.length)).to.deep.equal(
        Array(leads).fill(mostScores),
      );
      const after = await examined();
      const scans = after.collectionScans.total - before.collectionScans.total;
      return { keys: after.scanned - before.scanned, read: after.scannedObjects - before.scannedObjects, scans };
    };
    // The counters are those of the whole server, and its own background work adds to them.
    const cost = async () => {
      const costs = [await costOnce(), await costOnce(), await costOnce(), await costOnce(), await costOnce()];
      const least = (name: keyof (typeof costs)[number]) => Math.min(...costs.map((each) => each[name]));
      return { keys: least('keys'), read: least('read'), scans: least('scans') };
    };
    const grow = async (count: number) => {
      const all = Array.from({ length: count }, (_, call) => documents({ records, model: `mdl_${call % models}` }));
      await calls().insertMany(all.flat());
    };
    await grow(60);
    const short = await cost();
    await grow(1_500);
    const long = await cost();
    // A seek of the index examines up to two keys.
    const bound = leads * (2 + 2 * (models + 1) + mostScores);
    expect(long.keys, 'index keys').to.be.within(leads * mostScores, bound);
    expect(long.read, 'documents').to.be.at.most(leads * (mostScores + 2));
    expect([long.keys, long.read]).to.deep.equal([short.keys, short.read]);
    expect(long.scans, 'scans of a collection').to.equal(short.scans);
  });
});
