import { expect } from 'chai';
import { eventually } from '../../../support/eventually.js';
import { refused, scored, scoredRow } from '../../../support/http/score-reply.js';
import { sampleAnswer } from '../../../support/models/sample-answer.js';
import { sampleBundle } from '../../../support/models/sample-bundle.js';
import type { RunningService } from '../../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace } from '../../../support/service/workspace.js';

const large = { company_size: 150, demo_requested: true, lead_source: 'Referral' };
const small = { company_size: 5, demo_requested: false, lead_source: 'Fair' };

describe('enriched rows of POST /v1/score', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  });

  it('scores a record with only a crm_id from the stored fields', async () => {
    await own.score([{ ...large, crm_id: 'L-1' }]);
    expect(scoredRow(await own.score([{ crm_id: 'L-1' }]))).to.deep.equal({
      ...sampleAnswer(large),
      enriched: true,
      crm_id: 'L-1',
      previous_score: sampleAnswer(large).score,
      delta: 0,
    });
  });

  it('keeps a field through later calls that leave it out', async () => {
    await own.score([{ company_size: 150, crm_id: 'L-1' }]);
    await own.score([{ demo_requested: true, crm_id: 'L-1' }]);
    const row = scoredRow(await own.score([{ lead_source: 'Referral', crm_id: 'L-1' }]));
    expect(row).to.include(sampleAnswer(large));
  });

  it('prefers a sent field to the stored one', async () => {
    await own.score([{ ...large, crm_id: 'L-1' }]);
    const row = scoredRow(await own.score([{ company_size: 20, crm_id: 'L-1' }]));
    expect(row).to.include(sampleAnswer({ ...large, company_size: 20 }));
  });

  it('fills in missing fields of one record beside complete records of the same call', async () => {
    await own.score([
      { ...large, crm_id: 'L-1' },
      { ...large, crm_id: 'L-2' },
    ]);
    const { scores } = scored(
      await own.score([
        { ...small, crm_id: 'L-1' },
        { company_size: 20, crm_id: 'L-2' },
      ]),
    );
    expect(scores[0]).to.include({ enriched: true, ...sampleAnswer(small) });
    expect(scores[1]).to.include({ enriched: true, ...sampleAnswer({ ...large, company_size: 20 }) });
  });

  it('treats null as sent, in this call and later', async () => {
    await own.score([{ ...large, crm_id: 'L-1' }]);
    const { lead_source: _, ...rest } = large;
    const row = scoredRow(await own.score([{ lead_source: null, crm_id: 'L-1' }]));
    expect(row).to.include(sampleAnswer(rest));
    expect(scoredRow(await own.score([{ crm_id: 'L-1' }]))).to.include(sampleAnswer(rest));
  });

  it('takes previous_score and stored fields from the latest prediction', async () => {
    await own.score([{ ...large, crm_id: 'L-1' }]);
    await own.score([{ ...small, crm_id: 'L-1' }]);
    const row = scoredRow(await own.score([{ company_size: 300, crm_id: 'L-1' }]));
    expect(row).to.include({ enriched: true, previous_score: sampleAnswer(small).score });
    expect(row).to.include(sampleAnswer({ ...small, company_size: 300 }));
  });

  it('scores a lead twice in a call against one previous_score, and keeps the last row', async () => {
    await own.score([{ ...small, crm_id: 'L-1' }]);
    const before = sampleAnswer(small).score;
    const { scores, cache_hits } = scored(
      await own.score([
        { ...large, crm_id: 'L-1' },
        { ...large, company_size: 40, crm_id: 'L-1' },
      ]),
    );
    expect(cache_hits).to.equal(2);
    expect(scores.map((row) => row.previous_score)).to.deep.equal([before, before]);
    const next = scoredRow(await own.score([{ crm_id: 'L-1' }]));
    expect(next.previous_score).to.equal(sampleAnswer({ ...large, company_size: 40 }).score);
    expect(next.delta).to.equal(0);
  });

  it('scores an unknown lead twice in a call without enrichment', async () => {
    const { scores } = scored(
      await own.score([
        { ...large, crm_id: 'L-1' },
        { company_size: 1, crm_id: 'L-1' },
      ]),
    );
    expect(scores.map((row) => row.enriched)).to.deep.equal([false, false]);
    expect(scores[1]).to.include(sampleAnswer({ company_size: 1 }));
  });

  it('enriches from another model’s score, without previous_score and delta', async () => {
    const other = await own.addModel({ bundle: sampleBundle({ name: 'Another score', version: '7' }) });
    await own.score([{ ...large, crm_id: 'L-1' }]);
    const { scores, cache_hits } = scored(await own.score([{ crm_id: 'L-1' }], { modelId: other._id }));
    expect(scores).to.deep.equal([{ ...sampleAnswer(large), enriched: true, crm_id: 'L-1' }]);
    expect(cache_hits).to.equal(1);
  });

  it('returns the model’s own previous_score with the latest fields of any model', async () => {
    const other = await own.addModel({ bundle: sampleBundle({ name: 'Another score' }) });
    await own.score([{ ...large, crm_id: 'L-1' }]);
    await own.score([{ ...small, crm_id: 'L-1' }], { modelId: other._id });
    const row = scoredRow(await own.score([{ crm_id: 'L-1' }]));
    expect(row).to.include({ ...sampleAnswer(small), previous_score: sampleAnswer(large).score });
  });

  it('enriches from a score whose model was deleted', async () => {
    const other = await own.addModel({ bundle: sampleBundle({ name: 'Another score' }) });
    await own.score([{ ...large, crm_id: 'L-1' }], { modelId: other._id });
    await own.changeModel(other._id, { deleted_at: new Date(service.clock.now()) });
    await eventually(async () => {
      refused(await own.score([small], { modelId: other._id, gateway: 0 }), '404 model_not_found');
    });
    const row = scoredRow(await own.score([{ crm_id: 'L-1' }], { gateway: 0 }));
    expect(row).to.deep.equal({ ...sampleAnswer(large), enriched: true, crm_id: 'L-1' });
  });

  it('compares crm_ids exactly, without trimming or case folding', async () => {
    await own.score([{ ...large, crm_id: 'Lead-1' }]);
    const near = ['lead-1', 'Lead-1 ', ' Lead-1', 'Lead-１'];
    const { scores } = scored(await own.score(near.map((crm_id) => ({ ...small, crm_id }))));
    expect(scores.map((row) => row.enriched)).to.deep.equal([false, false, false, false]);
  });

  it('never enriches a record without a crm_id or with an empty one', async () => {
    for (const _call of ['first', 'second']) {
      const { scores, cache_hits } = scored(await own.score([large, { ...large, crm_id: '' }]));
      expect(scores).to.deep.equal([
        { ...sampleAnswer(large), enriched: false },
        { ...sampleAnswer(large), enriched: false },
      ]);
      expect(cache_hits).to.equal(0);
    }
  });

  it('never enriches records that share a placeholder or a shortened number as crm_id, and echoes it', async () => {
    for (const crm_id of ['#N/A', 'NULL', '1.20214E+17']) {
      await own.score([{ ...large, crm_id }]);
      const row = scoredRow(await own.score([{ company_size: 5, crm_id }]));
      expect(row).to.deep.equal({ ...sampleAnswer({ company_size: 5 }), enriched: false, crm_id });
    }
  });

  it('scores calls of a test key only from the fields sent, and stores nothing of them', async () => {
    await own.score([{ ...large, crm_id: 'L-1' }]);
    const test = { key: own.test };
    refused(await own.score([{ crm_id: 'L-1' }], test), '400 bad_request');
    const part = { company_size: 5, crm_id: 'L-1' };
    const cold = { ...sampleAnswer({ company_size: 5 }), enriched: false, crm_id: 'L-1' };
    for (const explain of [false, true]) {
      const { scores, cache_hits } = scored(await own.score([part], { ...test, explain }));
      expect(scores[0]).to.include(cold).and.not.have.property('previous_score');
      expect(cache_hits).to.equal(0);
      expect(JSON.stringify(scores)).not.to.include(large.lead_source);
    }

    await own.score([{ ...small, crm_id: 'L-2' }], test);
    expect(await own.predictions()).to.have.length(1);
    const { scores } = scored(await own.score([{ crm_id: 'L-1' }, { ...small, crm_id: 'L-2' }]));
    expect(scores.map((row) => row.previous_score)).to.deep.equal([sampleAnswer(large).score, undefined]);
  });

  it('scores with the new version from the fields stored under the old one', async () => {
    await own.score([{ ...large, crm_id: 'L-1' }]);
    await own.addVersion(sampleBundle({ version: '2.0.0' }));
    await eventually(async () => {
      scored(await own.score([small], { gateway: 0 }));
      expect((await own.ledgerRows()).at(-1)?.version).to.equal('2.0.0');
    });
    const row = scoredRow(await own.score([{ crm_id: 'L-1' }], { gateway: 0 }));
    expect(row).to.include({ ...sampleAnswer(large), previous_score: sampleAnswer(large).score });
    expect((await own.predictions()).at(-1)?.version).to.equal('2.0.0');
  });
});
