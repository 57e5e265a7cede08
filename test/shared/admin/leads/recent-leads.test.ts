import { expect } from 'chai';
import type { Document } from 'mongodb';
import { profiledQueries } from '../../../../scripts/bench/console/profiled-queries.js';
import { eraseLead } from '../../../../shared/admin/leads/erase-lead.js';
import { searchLeads } from '../../../../shared/admin/leads/read-leads.js';
import { mostPredictions, mostSegments, recentLeads } from '../../../../shared/admin/leads/recent-leads.js';
import { createOrganisation } from '../../../../shared/admin/organisations/change-organisations.js';
import { checkBundle } from '../../../../shared/bundle/check-bundle.js';
import { callIdGenerator } from '../../../../shared/contract/identifiers.js';
import { callsCollection, segmentsOf } from '../../../../shared/store/calls/prediction-segment.js';
import { createModel } from '../../../../shared/store/models/store-version.js';
import { type AdminDesk, adminDesk } from '../../../support/admin/admin-desk.js';
import { sampleBundle } from '../../../support/models/sample-bundle.js';

type Scored = readonly (readonly [crmId: string | null, score: number])[];

describe('the leads that the console shows before a search', () => {
  let desk: AdminDesk;
  let org: string;
  let model: string;
  let atMs = Date.UTC(2026, 10, 1);
  const newCallId = callIdGenerator();

  before(async () => {
    desk = await adminDesk();
  });
  beforeEach(async () => {
    org = (await desk.act(createOrganisation, { name: 'Acme', plan: 'pro' })).org_id;
    const bundle = checkBundle(sampleBundle({ name: 'Conversion' }));
    model = (await createModel(desk.database, { organisationId: org, bundle, now: new Date() }))._id;
  });
  after(() => desk.leave());

  const calls = () => desk.database.collection<Document & { _id: string }>(callsCollection);

  /** The documents of a call, a minute after the one before. */
  function documents(records: Scored, { by = model, owner = org } = {}) {
    atMs += 60_000;
    const columns = {
      crmIds: records.map(([crmId]) => crmId),
      scores: records.map(([, score]) => score),
      likelihoods: records.map(() => 1_234),
      fields: records.map(() => '[]'),
    };
    const callId = newCallId(atMs, owner);
    return segmentsOf({ callId, org: owner, model: by, version: '1.0.0', at: new Date(atMs), ...columns });
  }
  const record = (...call: Parameters<typeof documents>) => calls().insertMany(documents(...call));
  const recent = () => desk.act(recentLeads, { org_id: org });
  const brief = (leads: readonly { crm_id: string; score: number; delta?: number | undefined }[]) =>
    leads.map(({ crm_id: id, score, delta }) => [id, score, delta]);

  it('are the newest, the highest and the most changed ones, each with its latest score', async () => {
    const begin = new Date(atMs + 60_000).toISOString();
    await record([
      ['A', 10],
      ['B', 90],
      ['C', 50],
    ]);
    await record([
      ['A', 40],
      ['A', 30],
      [null, 99],
    ]);
    await record([['B', 60]]);
    await record([['B', 100]], { by: 'mdl_other' });
    await record([['C', 50]]);
    const found = await recent();
    expect(found).to.include({ predictions: 9, since: begin });
    expect(found.newest[0]).to.deep.equal({
      ...{ crm_id: 'C', model_id: model, model_name: 'Conversion', score: 50, delta: 0 },
      scored_at: new Date(atMs).toISOString(),
    });
    expect(brief(found.newest)).to.deep.equal([
      ['C', 50, 0],
      ['B', 100, undefined],
      ['B', 60, -30],
      ['A', 30, -10],
    ]);
    expect(brief(found.highest).map(([, score]) => score)).to.deep.equal([100, 60, 50, 30]);
    expect(brief(found.changed)).to.deep.equal([
      ['B', 60, -30],
      ['A', 30, -10],
    ]);
  });

  it('are at most ten, and none of an erased lead, of a test key or of another organisation', async () => {
    expect(await recent()).to.deep.equal({ predictions: 0, newest: [], highest: [], changed: [] });
    const { org_id: other } = await desk.act(createOrganisation, { name: 'Beta', plan: 'pro' });
    await record([['OTHER', 100]], { owner: other });
    const leads = Array.from({ length: 150 }, (_, row) => [`L${row + 100}`, row % 100] as const);
    await record(leads);
    await calls().insertOne({ _id: newCallId(atMs + 1, org), org, bucket: 'test', records: 1, at: new Date(atMs) });
    await desk.act(eraseLead, { org_id: org, crm_id: 'L249' });
    const { newest, highest, changed } = await recent();
    expect(highest.map(({ score }) => score)).to.deep.equal(Array.from({ length: 10 }, (_, index) => 99 - index));
    expect([newest.length, changed.length]).to.deep.equal([10, 0]);
    expect(newest.map(({ crm_id: id }) => id)).to.not.include('L249');
  });

  it('cost at most 3,000 keys and documents, and 10,000 predictions, however many there are', async () => {
    const cost = async () => {
      const queries = (await profiledQueries(desk.database, recent)).filter(({ ns }) => String(ns).endsWith('.calls'));
      for (const { planSummary, hasSortStage } of queries)
        expect([planSummary, hasSortStage]).to.deep.equal(['IXSCAN { _id: 1 }', undefined]);
      const sumOf = (of: 'keysExamined' | 'docsExamined') => queries.reduce((sum, query) => sum + query[of], 0);
      return [sumOf('keysExamined'), sumOf('docsExamined')];
    };
    const grow = async (count: number, records = 1) => {
      const rowsOf = (call: number) =>
        Array.from({ length: records }, (_, row) => [`L${call % 700}-${row}`, row] as const);
      await calls().insertMany(Array.from({ length: count }, (_, call) => documents(rowsOf(call))).flat());
    };
    await grow(mostSegments + 100);
    expect(await cost()).to.deep.equal([mostSegments, mostSegments]);
    await grow(1_000);
    expect(await cost()).to.deep.equal([mostSegments, mostSegments]);
    expect(await recent()).to.include({ predictions: mostSegments });
    await grow(150, 100);
    const segments = mostPredictions / 100;
    expect(await cost()).to.deep.equal([segments, segments]);
    expect(await recent()).to.include({ predictions: mostPredictions });
    await grow(100);
    // The first page is of single records. The next one may be twice as large, although each has a hundred rows.
    expect(await cost()).to.deep.equal([300, 300]);
    expect(await recent()).to.include({ predictions: mostPredictions });
  });

  it('are followed by a search that finds a lead of Salesforce in each form of its id', async () => {
    await record([
      ['00Q5g00000ABcDe', 70],
      ['00Q5g00000ABcDf', 60],
    ]);
    const search = async (prefix: string) =>
      (await desk.act(searchLeads, { org_id: org, prefix })).leads.map(({ crm_id: id }) => id);
    expect(await search('00Q5g')).to.deep.equal(['00Q5g00000ABcDe', '00Q5g00000ABcDf']);
    for (const form of ['00Q5g00000ABcDe', '00Q5g00000ABcDeE', '00Q5g00000ABcDeEAL', '00q5g00000abcdeeal'])
      expect(await search(form), form).to.deep.equal(['00Q5g00000ABcDe']);
    expect(await search('00Q5g00000ABcDeEAZ')).to.deep.equal([]);
  });
});
