import { expect } from 'chai';
import { checkBundle } from '../../../../shared/bundle/check-bundle.js';
import { runBundle } from '../../../../worker/bundle-checks/golden-check.js';
import { eventually } from '../../../support/eventually.js';
import type { HttpReply } from '../../../support/http/http-call.js';
import { type ScoreRow, scored } from '../../../support/http/score-reply.js';
import { packSample, sampleBundle, sampleParts } from '../../../support/models/sample-bundle.js';
import { floats } from '../../../support/models/sample-onnx.js';
import type { RunningService } from '../../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace } from '../../../support/service/workspace.js';

/** The explanation of a row. */
interface Explained {
  readonly drivers: readonly Readonly<Record<string, string>>[];
  readonly top_reason_1: string | null;
  readonly top_reason_2: string | null;
  readonly top_reason_3: string | null;
}

/** The sample model has the weights 0.01, 1, and 0.25 for Webinar. */
const lead = { company_size: 120, demo_requested: true, lead_source: 'Webinar' };
const explainsLead: Explained = {
  drivers: [
    {
      field: 'company_size',
      value: '120',
      contribution: '1.2000',
      direction: 'positive',
      label: 'Company size',
    },
    {
      field: 'demo_requested',
      value: 'true',
      contribution: '1.0000',
      direction: 'positive',
      label: 'Demo requested',
    },
    {
      field: 'lead_source',
      value: 'Webinar',
      contribution: '0.2500',
      direction: 'positive',
      label: 'Lead source',
    },
  ],
  top_reason_1: 'Company size is 120 (raises the score)',
  top_reason_2: 'Demo requested is true (raises the score)',
  top_reason_3: 'Lead source is Webinar (raises the score)',
};
const explainsNothingSent: Explained = {
  drivers: [{ field: 'lead_source', value: '', contribution: '-0.5000', direction: 'negative', label: 'Lead source' }],
  top_reason_1: 'Lead source is missing (lowers the score)',
  top_reason_2: null,
  top_reason_3: null,
};
const members = ['drivers', 'top_reason_1', 'top_reason_2', 'top_reason_3'] as const;

const explainedRows = (reply: HttpReply) => scored(reply).scores as readonly (ScoreRow & Explained)[];
const flat = (reply: HttpReply): Explained & Record<string, unknown> => {
  expect(reply.status, reply.text.slice(0, 500)).to.equal(200);
  return JSON.parse(reply.text);
};

describe('explain: true of POST /v1/score', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  });

  it('returns drivers and reasons of each row, in request order', async () => {
    const rows = explainedRows(await own.score([lead, { company_size: 0 }, lead], { explain: true }));
    expect(rows).to.have.length(3);
    expect(rows[0]).to.deep.include(explainsLead);
    expect(rows[1]).to.deep.include(explainsNothingSent);
    expect(rows[2]).to.deep.include(explainsLead);
  });

  it('returns no drivers when explain is false or absent', async () => {
    for (const options of [{}, { explain: false }])
      for (const row of scored(await own.score([lead], options)).scores) expect(row).to.not.have.any.keys(...members);
  });

  it('changes neither scores nor usage with explain: true', async () => {
    const plain = scored(await own.score([lead, { company_size: 5 }]));
    const explained = scored(await own.score([lead, { company_size: 5 }], { explain: true }));
    const score = (row: { score: number; conversion_likelihood: number }) => [row.score, row.conversion_likelihood];
    expect(explained.scores.map(score)).to.deep.equal(plain.scores.map(score));
    expect(explained.usage.current).to.equal(plain.usage.current + 2);
  });

  it('explains each of a thousand records by its own values', async () => {
    const records = Array.from({ length: 1000 }, (_, index) => ({
      company_size: index,
      demo_requested: true,
    }));
    const rows = explainedRows(await own.score(records, { explain: true }));
    for (const [index, { drivers }] of rows.entries()) {
      const size = drivers.find(({ field }) => field === 'company_size');
      const expected = index < 2 ? undefined : (index / 100).toFixed(4);
      expect(size?.contribution, `row ${index}`).to.equal(expected);
      if (size !== undefined) expect(size.value).to.equal(String(index));
    }
  });

  it('names no stored value to a key without the scope read, neither first nor on a replay', async () => {
    const key = await own.addKey('live', { scopes: ['score'] });
    await own.score([{ ...lead, lead_source: 'web seminar', crm_id: 'L-1' }]);
    const sent = { crm_id: 'L-1', company_size: 0 };
    const headers = { 'Idempotency-Key': 'one call' };
    const full = await own.score([sent], { explain: true, headers });
    expect(full.text).to.include('web seminar');
    const [row] = explainedRows(await own.score([sent], { explain: true, key }));
    const [known] = explainedRows(full);
    expect(row?.drivers.map(({ field, contribution }) => [field, contribution])).to.deep.equal(
      known?.drivers.map(({ field, contribution }) => [field, contribution]),
    );
    for (const { field, value } of row?.drivers ?? []) expect(value, field).to.equal('');
    expect(row?.top_reason_1).to.match(/^.+ has a stored value \((?:raises|lowers) the score\)$/);
    const [own_] = explainedRows(await own.score([{ ...sent, lead_source: 'referral' }], { explain: true, key }));
    expect(own_?.drivers.find(({ field }) => field === 'lead_source')).to.include({ value: 'referral' });
    const replay = await own.score([sent], { explain: true, key, headers });
    expect(replay.status).to.equal(422);
    expect(replay.text).to.not.include('web seminar');
  });

  it('explains stored values as they were sent originally', async () => {
    await own.score([{ ...lead, lead_source: 'web seminar', crm_id: 'L-1' }]);
    const [row] = explainedRows(await own.score([{ crm_id: 'L-1', company_size: 0 }], { explain: true }));
    expect(row?.drivers.map(({ field, value }) => [field, value])).to.deep.equal([
      ['demo_requested', 'true'],
      ['lead_source', 'web seminar'],
    ]);
  });

  it('returns drivers flat from a webhook with explain in body or query, and reasons in outputFields', async () => {
    const body = { model_id: own.model._id, explain: true, ...lead };
    expect(flat(await own.call('/v1/webhooks/score', { body }))).to.deep.include(explainsLead);
    const inAddress = await own.call('/v1/webhooks/score?explain=1', {
      body: { model_id: own.model._id, ...lead },
    });
    expect(flat(inAddress)).to.deep.include(explainsLead);
    const action = { callbackId: 'cb-1', origin: {}, object: { objectId: 7 }, inputFields: { ...lead } };
    const path = `/v1/webhooks/score?model_id=${own.model._id}&explain=true`;
    const { outputFields, ...answer } = flat(await own.call(path, { body: action }));
    expect(answer).to.deep.include(explainsLead);
    expect(outputFields).to.include({ top_reason_1: explainsLead.top_reason_1 });
    expect(outputFields).to.not.have.property('drivers');
    const sparse = {
      ...action,
      callbackId: 'cb-2',
      object: { objectId: 8 },
      inputFields: { company_size: 0 },
    };
    const { drivers: _drivers, ...texts } = explainsNothingSent;
    const { outputFields: withNulls, ...alike } = flat(await own.call(path, { body: sparse }));
    expect(alike).to.deep.include(explainsNothingSent);
    expect(withNulls).to.include(texts);
    const plain = flat(await own.call('/v1/webhooks/score', { body: { ...body, explain: false } }));
    expect(plain).to.not.have.any.keys(...members);
  });

  it('returns drivers from both deprecated aliases', async () => {
    const batch = { model_id: own.model._id, records: [lead], explain: true };
    expect(explainedRows(await own.call('/score', { body: batch }))[0]).to.deep.include(explainsLead);
    const single = { model_id: own.model._id, explain: true, ...lead };
    expect(flat(await own.call('/webhooks/score', { body: single }))).to.deep.include(explainsLead);
  });

  it('replays the drivers under an Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'explained-1' };
    const first = await own.score([lead], { explain: true, headers });
    const again = await own.score([lead], { explain: true, headers });
    expect(explainedRows(first)[0]).to.deep.include(explainsLead);
    expect(again.text).to.equal(first.text);
    expect(again.headers.get('idempotent-replayed')).to.equal('true');
  });

  it('explains a tree model by its splits', async () => {
    const model = await own.addModel({ bundle: sampleBundle({ model: 'tree' }) });
    const options = { explain: true, modelId: model._id };
    const [row] = explainedRows(await own.score([{ company_size: 20, demo_requested: false }], options));
    // x0 > 10 gives 1.5; its 40 of 100 rows against a mean of 0.3: 60 % of the rest average -0.5.
    expect(row?.drivers).to.deep.equal([
      {
        field: 'company_size',
        value: '20',
        contribution: '1.3500',
        direction: 'positive',
        label: 'Company size',
      },
      {
        field: 'demo_requested',
        value: 'false',
        contribution: '-0.1500',
        direction: 'negative',
        label: 'Demo requested',
      },
    ]);
  });

  it('explains a tree model by occlusion when its cover weights are implausible, and logs why', async () => {
    const parts = sampleParts({ model: 'tree' });
    const manifest = { ...parts.manifest, explain: { kind: 'linear', means: [0, 0, 0, 0, 0, 0] } };
    parts.model.graph.node[0]?.attribute.push(floats('nodes_hitrates', [1, 1, 1, 1, 1]));
    const bundle = packSample({ ...parts, manifest, covers: undefined });
    const { explainMethod } = await runBundle(checkBundle(bundle), { nowMs: 0 });
    const model = await own.addModel({ bundle, explainMethod });
    const reply = await own.call(`/v1/models/${model._id}`);
    expect(JSON.parse(reply.text).explain).to.deep.equal({ method: 'occlusion' });
    const options = { explain: true, modelId: model._id };
    const [row] = explainedRows(await own.score([{ company_size: 20, demo_requested: false }], options));
    // The baseline is a record of missing values: 1.5 - (-1) for company_size alone.
    expect(row?.drivers.map(({ field, contribution }) => [field, contribution])).to.deep.equal([
      ['company_size', '2.5000'],
    ]);
    await eventually(async () => {
      const lines = (await service.log()).split('\n').filter((line) => line.includes(model._id));
      expect(lines.join('\n'))
        .to.match(/explained by occlusion/)
        .and.match(/hit rates/);
    });
  });
});
