import { expect } from 'chai';
import { scored, scoredRow } from '../../../support/http/score-reply.js';
import { scoredWebhook } from '../../../support/http/webhook-answer.js';
import { onOwnWorkspace, type TestWorkspace } from '../../../support/service/workspace.js';

const lead = { company_size: 120, lead_source: 'Referral' };

describe('a crm_id that is a whole number', () => {
  let own: TestWorkspace;

  onOwnWorkspace((fresh) => {
    own = fresh;
  });

  it('is the id of its digits in batches, webhooks and outcomes, and is echoed as text', async () => {
    const largest = Number.MAX_SAFE_INTEGER;
    const ids = [42, -7, 0, largest];
    const first = scored(await own.score(ids.map((crm_id) => ({ ...lead, crm_id })))).scores;
    expect(first.map(({ crm_id, enriched }) => [crm_id, enriched])).to.deep.equal(ids.map((id) => [String(id), false]));
    expect(scoredRow(await own.score([{ ...lead, crm_id: '42' }]))).to.include({ crm_id: '42', enriched: true });

    for (const body of [{ crm_id: largest, ...lead }, { record: { ...lead, crm_id: largest } }]) {
      const reply = await own.call('/v1/webhooks/score', { body: { model_id: own.model._id, ...body } });
      expect(scoredWebhook(reply)).to.include({ crm_id: String(largest), enriched: true });
    }

    const outcomes = [
      { crm_id: 42, converted: true },
      { crm_id: 43, converted: false },
    ];
    const reply = await own.call('/v1/outcomes', { body: { outcomes } });
    expect(JSON.parse(reply.text)).to.include({ accepted: 2, known: 1, unknown: 1, unknown_example: '43' });
  });
});
