import { expect } from 'chai';
import type { HttpReply } from '../../../support/http/http-call.js';
import { scored } from '../../../support/http/score-reply.js';
import { demoBundleWith } from '../../../support/http/tool-fixture.js';
import { sampleBundle } from '../../../support/models/sample-bundle.js';
import { type RunningService, runningService, startTimeoutMs } from '../../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../../support/service/workspace.js';

interface Reported {
  readonly input?: Readonly<Record<string, unknown>>;
  readonly input_summary?: {
    readonly records: number;
    readonly fields: readonly { readonly field: string }[];
    readonly ignored: readonly object[];
  };
}

const json = (reply: HttpReply): Reported & Readonly<Record<string, unknown>> => {
  expect(reply.status, reply.text.slice(0, 500)).to.equal(200);
  return JSON.parse(reply.text);
};
const fieldOf = ({ input_summary }: Reported, name: string) =>
  input_summary?.fields.find(({ field }) => field === name);

const misspelt = { 'Lead Sorce': 'Referral', 'Number of Employees': 'lots', Email: 'a@example.com' };
const lead = { 'Lead Source': 'Referral', Industry: 'Mining', 'Created Date': '31/12/2025' };

describe('input_report of POST /v1/score and of webhooks', () => {
  let service: RunningService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });
  beforeEach(async () => {
    own = await workspace(service, { bundle: await demoBundleWith({}) });
  });

  const score = (records: readonly object[], inputReport?: string, further: object = {}) =>
    own.post({ model_id: own.model._id, records, ...(inputReport && { input_report: inputReport }) }, further);

  it('does not take the key of one field for another that differs by case alone', async () => {
    const features = ['Stage', 'stage'].map((field, column) => ({
      ...{ field, label: field, type: 'number' as const },
      ...{ columns: [column], impute: 0 },
    }));
    const cased = await workspace(service, { bundle: sampleBundle({ features, weights: [3, 0.5], intercept: 0 }) });
    const likelihoods = [1 / (1 + Math.exp(-0.5)), 1 / (1 + Math.exp(-3))].map((value) => Number(value.toFixed(4)));
    const records = [{ stage: 1 }, { Stage: 1 }];
    const { scores } = json(await cased.post({ model_id: cased.model._id, records, input_report: 'records' }));
    expect(scores).to.have.length(2);
    for (const [index, row] of (scores as readonly Reported[]).entries()) {
      expect(row).to.include({ conversion_likelihood: likelihoods[index] });
      expect(row.input).to.deep.include({ used: 1, missing: [index === 0 ? 'Stage' : 'stage'] });
    }
  });

  it('reports each record and sums up with "records"', async () => {
    const reply = json(await score([misspelt, lead], 'records'));
    const [first, second] = reply.scores as readonly Reported[];
    expect(first?.input).to.deep.include({
      used: 0,
      filled: [],
      unread: [{ field: 'Number of Employees', value: 'lots', reason: 'expected a number' }],
      unseen: [],
      ignored: ['Lead Sorce', 'Email'],
      did_you_mean: { 'Lead Sorce': 'Lead Source' },
    });
    expect(first?.input?.missing).to.have.length(15).and.to.include('Lead Source');
    expect(second?.input).to.deep.include({
      used: 2,
      unread: [
        {
          field: 'Created Date',
          value: '31/12/2025',
          reason: 'expected a date (the model reads year-month-day and month/day/year)',
        },
      ],
      unseen: [{ field: 'Industry', value: 'Mining' }],
      ignored: [],
    });
    expect(fieldOf(reply, 'Industry')).to.deep.equal({
      ...{ field: 'Industry', sent: 1, unread: 0, unseen: 1, examples: ['Mining'] },
    });
    expect(reply.input_summary).to.include({ records: 2 });
    expect(reply.input_summary?.ignored).to.deep.equal([
      { name: 'Lead Sorce', records: 1 },
      { name: 'Email', records: 1 },
    ]);
  });

  it('counts the dates that the other order of day and month reads as another day', async () => {
    const dates = ['31/12/2025', '13/02/2026', '03/04/2026', '05/06/2026', '01/12/2026', '2/1/2026', '2026-03-04'];
    const reply = json(
      await score(
        dates.map((date) => ({ 'Created Date': date })),
        'records',
      ),
    );
    expect(fieldOf(reply, 'Created Date')).to.deep.equal({
      ...{ field: 'Created Date', sent: 7, unread: 2, unseen: 0, ambiguous: 4, date_order: 'mdy' },
      examples: ['31/12/2025', '13/02/2026'],
      reason: 'expected a date (the model reads year-month-day and month/day/year)',
    });
    expect(fieldOf(reply, 'Industry')).to.not.have.any.keys('ambiguous', 'date_order');
    const [, , both, , , , iso] = reply.scores as readonly Reported[];
    expect(both?.input).to.deep.include({
      ...{ used: 1, unread: [] },
      ambiguous: [{ field: 'Created Date', value: '03/04/2026', date_order: 'mdy' }],
    });
    expect(iso?.input).to.deep.include({ used: 1, unread: [], ambiguous: [] });
  });

  it('only sums up with "summary", over all chunks of a batch', async () => {
    const records = Array.from({ length: 600 }, (_, index) => ({
      ...(index < 300 && { 'Lead Sorce': 'Web' }),
      Industry: index % 2 === 0 ? 'Mining' : 'Retail',
    }));
    const reply = json(await score(records, 'summary'));
    for (const row of reply.scores as readonly Reported[]) expect(row).to.not.have.property('input');
    expect(fieldOf(reply, 'Industry')).to.include({ sent: 600, unseen: 300 });
    expect(fieldOf(reply, 'Lead Source')).to.include({ sent: 0 });
    expect(reply.input_summary?.ignored).to.deep.equal([
      { name: 'Lead Sorce', records: 300, did_you_mean: 'Lead Source' },
    ]);
  });

  it('changes nothing else of a reply', async () => {
    const plain = (await score([misspelt, lead], undefined, { key: own.test })).text;
    const { scores, input_summary: _, ...reply } = json(await score([misspelt, lead], 'records', { key: own.test }));
    const rows = (scores as readonly Reported[]).map(({ input: _input, ...row }) => row);
    const { usage, validation, ...rest } = reply;
    const { usage: _usage, ...expected } = JSON.parse(plain);
    expect({ ...rest, validation, scores: rows }).to.deep.equal(expected);
    expect(plain).to.not.include('input');
    expect(usage).to.include({ current: 4 });
  });

  it('names filled fields with the values of an earlier prediction', async () => {
    await score([{ ...lead, crm_id: 'L-1' }]);
    const reply = json(await score([{ crm_id: 'L-1', Industry: 'Retail' }], 'records'));
    const [row] = reply.scores as readonly Reported[];
    expect(row?.input).to.deep.include({ filled: ['Lead Source', 'Created Date'], used: 2, unseen: [], ignored: [] });
    expect(fieldOf(reply, 'Lead Source')).to.include({ sent: 0, unseen: 0 });
  });

  it('is part of a stored reply, and works with a test key', async () => {
    for (const key of [own.live, own.test]) {
      const headers = { 'idempotency-key': `report-${key.key._id}` };
      const first = await score([misspelt], 'summary', { headers, key });
      expect(json(first).input_summary).to.include({ records: 1 });
      const again = await score([misspelt], 'summary', { headers, key });
      expect(again.headers.get('idempotent-replayed')).to.equal('true');
      expect(again.text).to.equal(first.text);
    }
  });

  it('is flat in a webhook, asked for in the body, the record, a form or the query, and not in outputFields', async () => {
    const model = `model_id=${own.model._id}`;
    const path = '/v1/webhooks/score';
    const input = { used: 0, ignored: ['Lead Sorce', 'Email'], did_you_mean: { 'Lead Sorce': 'Lead Source' } };
    const settings = { model_id: own.model._id, input_report: 'records' };
    for (const [name, call] of Object.entries({
      canonical: own.call(path, { body: { ...settings, record: misspelt } }),
      'in the record': own.call(`${path}?${model}`, { body: { record: { ...misspelt, input_report: 'records' } } }),
      flat: own.call(path, { body: { ...settings, ...misspelt } }),
      'n8n item': own.call(path, { body: { ...settings, json: misspelt } }),
      query: own.call(`${path}?${model}&input_report=records`, { body: misspelt }),
      form: own.call(path, {
        body: new URLSearchParams({ ...settings, ...misspelt }).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
    })) {
      const reply = json(await call);
      expect(reply.input, name).to.deep.include(input);
      expect(reply.input_summary?.ignored, name).to.deep.equal([
        { name: 'Lead Sorce', records: 1, did_you_mean: 'Lead Source' },
        { name: 'Email', records: 1 },
      ]);
    }
    const action = { callbackId: 'cb-1', object: { objectId: 7 }, inputFields: misspelt };
    const reply = json(await own.call(`${path}?${model}&input_report=records`, { body: action }));
    expect(reply.input).to.deep.include(input);
    expect(reply.outputFields).to.not.have.any.keys('input', 'input_summary');
    const summary = json(await own.call(`${path}?${model}&input_report=summary`, { body: misspelt }));
    expect(summary).to.have.property('input_summary');
    expect(summary).to.not.have.property('input');
  });

  it('does not name the field that a webhook takes as the id', async () => {
    const body = { model_id: own.model._id, input_report: 'summary', Id: '00Q1', ...lead };
    expect(json(await own.call('/v1/webhooks/score', { body })).input_summary?.ignored).to.deep.equal([]);
  });

  it('names a crm_id that is no id', async () => {
    const reply = json(
      await score(
        [
          { ...lead, crm_id: 'NULL' },
          { ...lead, crm_id: 'L-1' },
        ],
        'records',
      ),
    );
    const reason = 'expected the id of one record, not a placeholder or a shortened number';
    const [first, second] = reply.scores as readonly {
      readonly input: { readonly used: number; readonly unread: object[] };
    }[];
    expect(first?.input.unread[0]).to.deep.equal({ field: 'crm_id', value: 'NULL', reason });
    expect(second?.input.unread).to.have.length(1);
    expect(first?.input.used).to.equal(second?.input.used);
    expect(fieldOf(reply, 'crm_id')).to.deep.equal({
      ...{ field: 'crm_id', sent: 2, unread: 1, unseen: 0, examples: ['NULL'], reason },
    });
    const body = { model_id: own.model._id, input_report: 'records', crm_id: '1.20214E+17', ...lead };
    const { input } = json(await own.call('/v1/webhooks/score', { body }));
    expect((input as { unread: object[] }).unread[0]).to.deep.equal({ field: 'crm_id', value: '1.20214E+17', reason });
  });

  it('works under the aliases', async () => {
    const body = { model_id: own.model._id, input_report: 'summary', records: [lead] };
    expect(json(await own.call('/score', { body }))).to.have.property('input_summary');
    const single = { model_id: own.model._id, input_report: 'records', ...lead };
    expect(json(await own.call('/webhooks/score', { body: single }))).to.include.keys('input', 'input_summary');
  });

  it('is the same for all rows of a batch as for one record', async () => {
    const reply = json(await score([lead, misspelt, lead], 'records'));
    const rows = (reply.scores as readonly Reported[]).map(({ input }) => input);
    const alone = json(await score([lead], 'records'));
    expect(rows[2]).to.deep.equal(rows[0]);
    expect(rows[0]).to.deep.equal((alone.scores as readonly Reported[])[0]?.input);
    expect(scored(await score([lead])).records_scored).to.equal(1);
  });
});
