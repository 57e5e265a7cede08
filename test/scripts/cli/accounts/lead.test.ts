import { expect } from 'chai';
import { callIdGenerator } from '../../../../shared/contract/identifiers.js';
import { segmentsOf } from '../../../../shared/store/calls/prediction-segment.js';
import { type JobSlice, sliceId } from '../../../../shared/store/jobs/job-documents.js';
import { OutcomeStore } from '../../../../shared/store/validation/outcomes.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';

const nowMs = Date.UTC(2026, 10, 23, 12);
const person = '00Q5g00000AbCdE';
/** The same id, as exports of Salesforce have it. */
const longForm = '00Q5g00000AbCdEEAV';

describe('leadscore lead export', () => {
  let desk: OperatorDesk;
  let organisation: string;
  let model: { readonly model_id: string; readonly version: string };
  const newCallId = callIdGenerator();

  before(async () => {
    desk = await operatorDesk();
    organisation = await desk.newOrganisation();
    const imported = await desk.document('model', 'import', await desk.writeBundle(), '--org', organisation);
    model = { model_id: String(imported.model_id), version: String(imported.version) };
  });

  after(() => desk.leave());

  /** Stores a call of some records. */
  async function call(
    atMs: number,
    records: readonly { readonly crmId: string | null; readonly score?: number; readonly fields?: string }[],
    org = organisation,
  ): Promise<string> {
    const callId = newCallId(atMs, org);
    const of = { callId, org, model: model.model_id, version: model.version, at: new Date(atMs) };
    const columns = {
      crmIds: records.map(({ crmId }) => crmId),
      scores: records.map(({ score = 50 }) => score),
      likelihoods: records.map(() => 1_234),
      fields: records.map(({ fields = '[]' }) => fields),
    };
    await desk.stores.predictions.insertMany(segmentsOf({ ...of, ...columns }));
    return callId;
  }

  it('prints each score with its fields, call and job, and the outcome, and nothing of another lead', async () => {
    const first = await call(nowMs - 3_000, [
      { crmId: 'NEIGHBOUR', score: 1, fields: '["neighbour"]' },
      { crmId: person, score: 40, fields: '[12,[],"Referral"]' },
    ]);
    const second = await call(nowMs - 2_000, [{ crmId: person, score: 52, fields: '[null,true,["a","b"]]' }]);
    const jobId = `job_${first.slice(0, 6)}aaaaaaaaaaaaaaaaaaaa`;
    await desk.stores.database
      .collection<Pick<JobSlice, '_id'>>('job_slices')
      .insertOne({ _id: sliceId(jobId, 0), ...{ state: 'settled', outcome: { call_id: second } } });
    const other = await desk.newOrganisation();
    await call(nowMs - 1_000, [{ crmId: person, score: 99 }], other);
    const converted = { crmId: person, converted: true, at: new Date(nowMs) };
    await new OutcomeStore(desk.stores.database).record({
      ...{ organisationId: organisation, outcomes: [converted], receivedAt: new Date(nowMs + 1_000) },
    });
    const base = { ...model, model_name: 'Sample score', conversion_likelihood: 0.1234 };
    const expected = {
      org_id: organisation,
      crm_id: person,
      scores: [
        {
          ...{ ...base, call_id: second, job_id: jobId, score: 52, scored_at: new Date(nowMs - 2_000).toISOString() },
          fields: [
            { field: 'demo_requested', value: true },
            { field: 'lead_source', value: ['a', 'b'] },
          ],
        },
        {
          ...{ ...base, call_id: first, score: 40, scored_at: new Date(nowMs - 3_000).toISOString() },
          fields: [
            { field: 'company_size', value: 12 },
            { field: 'demo_requested', value: null },
            { field: 'lead_source', value: 'Referral' },
          ],
        },
      ],
      outcome: {
        ...{ converted: true, at: new Date(nowMs).toISOString() },
        received_at: new Date(nowMs + 1_000).toISOString(),
      },
    };
    for (const form of [person, longForm]) {
      const { exported_at, ...document } = await desk.document('lead', 'export', organisation, form);
      expect(Date.parse(String(exported_at))).to.be.above(nowMs);
      expect(document).to.deep.equal(expected);
    }
    const { stdout } = await desk.run('lead', 'export', organisation, person);
    expect(JSON.parse(stdout)).to.deep.include(expected);
  });

  it('prints a history of several pages, of which one record has fields of two megabytes', async () => {
    const crmId = 'LONG-HISTORY';
    const long = JSON.stringify([null, null, 'x'.repeat(2_000_000)]);
    const ids: string[] = [];
    for (let score = 0; score < 60; score += 1)
      ids.unshift(await call(nowMs + score, [{ crmId, score, fields: score === 30 ? long : '[1]' }]));
    ids.unshift(
      await call(
        nowMs + 100,
        Array.from({ length: 70 }, () => ({ crmId, score: 77, fields: '[2]' })),
      ),
    );
    const { scores } = (await desk.document('lead', 'export', organisation, crmId)) as unknown as {
      readonly scores: readonly { readonly call_id: string; readonly score: number; readonly fields: object }[];
    };
    expect(scores.slice(0, 70).map(({ score }) => score)).to.deep.equal(Array(70).fill(77));
    expect(scores.slice(70).map(({ score }) => score)).to.deep.equal(Array.from({ length: 60 }, (_, at) => 59 - at));
    expect([...new Set(scores.map(({ call_id }) => call_id))]).to.deep.equal(ids);
    const fields = scores.find(({ score }) => score === 30)?.fields;
    expect(fields).to.deep.equal([{ field: 'lead_source', value: 'x'.repeat(2_000_000) }]);
  });

  it('prints the outcome of a lead without a score', async () => {
    const lost = { crmId: 'NO-SCORE', converted: false, at: new Date(nowMs) };
    const reported = { organisationId: organisation, outcomes: [lost], receivedAt: new Date(nowMs) };
    await new OutcomeStore(desk.stores.database).record(reported);
    const { scores, outcome } = await desk.document('lead', 'export', organisation, 'NO-SCORE');
    expect(scores).to.deep.equal([]);
    expect(outcome).to.deep.include({ converted: false });
  });

  it('refuses a lead of which nothing is stored, also that of another organisation', async () => {
    const other = await desk.newOrganisation();
    await call(nowMs, [{ crmId: 'THEIRS' }], other);
    for (const crmId of ['THEIRS', 'NONE']) {
      const { exitCode, stderr } = await desk.run('lead', 'export', organisation, crmId);
      expect(exitCode).to.equal(1);
      expect(stderr).to.include('Nothing is stored under this crm_id.');
    }
  });
});
