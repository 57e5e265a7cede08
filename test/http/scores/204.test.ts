import { expect } from 'chai';
import { refused, scoredRow } from '../../support/http/score-reply.js';
import { sampleAnswer } from '../../support/models/sample-answer.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { onOwnWorkspace, type TestWorkspace } from '../../support/service/workspace.js';
import { type History, read, scoreSizes, scoresOf } from './history.js';

const lead = { company_size: 120, lead_source: 'Referral' };

describe('204 of DELETE /v1/scores/{crm_id}', () => {
  let own: TestWorkspace;

  onOwnWorkspace((fresh) => {
    own = fresh;
  });

  it('removes crm_id and fields from every prediction of the lead, and keeps the usage', async () => {
    const other = await own.addModel({ bundle: sampleBundle({ version: '9' }) });
    await scoreSizes(own, { crmId: 'L-1', sizes: [10, 20] });
    await scoreSizes(own, { crmId: 'L-1', sizes: [30], modelId: other._id });
    await scoreSizes(own, { crmId: 'L-2', sizes: [40] });
    const before = await own.predictions();
    const reply = await own.call(scoresOf('L-1'), { method: 'DELETE' });
    expect([reply.status, reply.text]).to.deep.equal([204, '']);

    const erased = await own.predictions();
    expect(erased).to.deep.equal(
      before.map(({ crm_id, fields, ...kept }) => (crm_id === 'L-1' ? kept : { ...kept, crm_id, fields })),
    );
    expect(await own.ledgerSum()).to.equal(4);
    expect(read(await own.call('/v1/usage'))).to.include({ current: 4 });
    for (const method of ['GET', 'DELETE'] as const)
      refused(await own.call(scoresOf('L-1'), { method }), '404 not_found');
    expect(scoredRow(await own.score([{ ...lead, crm_id: 'L-1' }]))).to.deep.equal({
      ...sampleAnswer(lead),
      enriched: false,
      crm_id: 'L-1',
    });
    expect(read<History>(await own.call(scoresOf('L-2'))).scores).to.have.length(1);
  });

  it('leaves no stored fields, so that a record with only the crm_id gets 400', async () => {
    await scoreSizes(own, { crmId: 'L-1', sizes: [10] });
    await own.call(scoresOf('L-1'), { method: 'DELETE' });
    refused(await own.score([{ crm_id: 'L-1' }]), '400 bad_request');
  });
});
