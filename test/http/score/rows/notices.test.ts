import { expect } from 'chai';
import { scored } from '../../../support/http/score-reply.js';
import { scoredWebhook } from '../../../support/http/webhook-answer.js';
import { sampleBundle, sampleFeatures } from '../../../support/models/sample-bundle.js';
import { onOwnWorkspace, type TestWorkspace } from '../../../support/service/workspace.js';

const lead = { company_size: 120, lead_source: 'Referral' };
const meant = (name: string, member: string) => `"${name}" is unknown and was ignored: did you mean "${member}"?`;
const emptyKey = 'The Idempotency-Key is empty and was ignored.';
const webhook = '/v1/webhooks/score';

describe('notices of scoring calls', () => {
  let own: TestWorkspace;

  onOwnWorkspace((fresh) => {
    own = fresh;
  });

  const batch = async (members: Readonly<Record<string, unknown>>, headers: Record<string, string> = {}) =>
    scored(await own.call('/v1/score', { body: { model_id: own.model._id, records: [lead], ...members }, headers }));
  const single = async (members: Readonly<Record<string, unknown>>, headers: Record<string, string> = {}) =>
    scoredWebhook(await own.call(webhook, { body: { model_id: own.model._id, ...lead, ...members }, headers }));

  it('are absent from replies to calls without a fault', async () => {
    for (const reply of [
      await batch({ explain: true, metadata: { a: 1 } }),
      await single({ explain: true, note: 'x' }),
    ])
      expect(reply).to.not.have.property('notices');
  });

  it('name the nearest member of a batch, in every size of call', async () => {
    expect(await batch({ explian: true })).to.deep.include({ notices: [meant('explian', 'explain')] });
    const records = Array.from({ length: 1_000 }, () => ({ ...lead, note: 'x'.repeat(100) }));
    expect(await batch({ records, inputReport: 'summary' })).to.deep.include({
      notices: [meant('inputReport', 'input_report')],
    });
  });

  it('name the nearest setting of a webhook, in its body and in its address', async () => {
    expect(await single({ crmid: 'L-1' })).to.deep.include({ notices: [meant('crmid', 'crm_id')] });
    const reply = await own.call(`${webhook}?explan=1`, { body: { model_id: own.model._id, record: lead } });
    expect(scoredWebhook(reply)).to.deep.include({ notices: [meant('explan', 'explain')] });
  });

  it('leave out names that the model reads as fields', async () => {
    const features = sampleFeatures.map((each) =>
      each.field === 'company_size' ? { ...each, aliases: ['explains'] } : each,
    );
    const model = await own.addModel({ bundle: sampleBundle({ features, version: '9' }) });
    expect(await single({ model_id: model._id, explains: 5 })).to.not.have.property('notices');
    expect(await single({ explains: 5 })).to.deep.include({ notices: [meant('explains', 'explain')] });
  });

  it('name an empty Idempotency-Key, and come again with a stored reply', async () => {
    const empty = { 'idempotency-key': '' };
    expect(await batch({}, empty)).to.deep.include({ notices: [emptyKey] });
    expect(await single({ explian: 1 }, empty)).to.deep.include({ notices: [emptyKey, meant('explian', 'explain')] });
    const body = { model_id: own.model._id, records: [lead], explian: true };
    for (const replayed of [null, 'true']) {
      const reply = await own.call('/v1/score', { body, headers: { 'idempotency-key': 'k-1' } });
      expect(reply.headers.get('idempotent-replayed')).to.equal(replayed);
      expect(scored(reply)).to.deep.include({ notices: [meant('explian', 'explain')] });
    }
    const job = await own.call('/v1/jobs', { body: { model_id: own.model._id }, headers: empty });
    const noRunner =
      'No runner of bulk jobs runs, so the job waits. The operator of the service starts one: npm run start:bulk';
    expect(JSON.parse(job.text)).to.deep.include({ notices: [emptyKey, noRunner] });
  });
});
