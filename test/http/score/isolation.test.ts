import { expect } from 'chai';
import type { HttpReply } from '../../support/http/http-call.js';
import { refused, scored, scoredRow } from '../../support/http/score-reply.js';
import { sampleAnswer } from '../../support/models/sample-answer.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';

const large = { company_size: 150, demo_requested: true, lead_source: 'Referral' };
const small = { company_size: 5, demo_requested: false, lead_source: 'Fair' };

describe('isolation of organisations', () => {
  let service: RunningService;
  let ada: TestWorkspace;
  let bob: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });
  beforeEach(async () => {
    [ada, bob] = await Promise.all([workspace(service, { limit: 10 }), workspace(service, { limit: 10 })]);
  });

  it('never returns scores or fields of another organisation’s lead with the same crm_id', async () => {
    scored(await ada.score([{ ...large, crm_id: 'L-1' }]));
    const cold = scoredRow(await bob.score([{ company_size: 1, crm_id: 'L-1' }]));
    expect(cold).to.deep.equal({ ...sampleAnswer({ company_size: 1 }), enriched: false, crm_id: 'L-1' });
    const known = scoredRow(await ada.score([{ crm_id: 'L-1' }]));
    expect(known).to.include({ ...sampleAnswer(large), previous_score: sampleAnswer(large).score });
    const unknown = await bob.score([{ crm_id: 'L-2' }]);
    expect(refused(unknown, '400 bad_request').error.message).to.include('records[0]');
  });

  it('returns each organisation’s own previous_score when both score one crm_id concurrently', async () => {
    scored(await ada.score([{ ...large, crm_id: 'L-1' }]));
    scored(await bob.score([{ ...small, crm_id: 'L-1' }]));
    // Only the crm_id is sent, so a mix-up would show in every member of the row.
    const calls = Array.from({ length: 8 }, (_, call) => (call % 2 === 0 ? ada : bob));
    const replies = await Promise.all(calls.map((own) => own.score([{ crm_id: 'L-1' }])));
    for (const [call, reply] of replies.entries()) {
      const answer = sampleAnswer(call % 2 === 0 ? large : small);
      expect(scoredRow(reply)).to.include({ ...answer, previous_score: answer.score, delta: 0 });
    }
  });

  it('returns the same 404 for another organisation’s model as for an unknown one, to both keys', async () => {
    for (const key of [bob.live, bob.test]) {
      const there = await bob.score([large], { key, modelId: ada.model._id, gateway: 0 });
      const nowhere = await bob.score([large], { key, modelId: 'mdl_nowhere', gateway: 0 });
      refused(there, '404 model_not_found');
      expect(there.text).to.equal(nowhere.text);
    }
    expect(await ada.ledgerRows()).to.deep.equal([]);
  });

  it('returns 404 for another organisation’s disabled, blocked, expired or deleted model', async () => {
    const now = new Date(service.clock.now());
    const hidden = await Promise.all([
      workspace(service, { liveApi: false }),
      workspace(service, { policy: 'block' }),
      workspace(service, { plan: 'trial', trialEndsAt: new Date(0) }),
      workspace(service),
    ]);
    await service.stores.models.update(hidden[3].model._id, { deleted_at: now });
    for (const { model } of hidden) refused(await bob.score([large], { modelId: model._id }), '404 model_not_found');
  });

  it('scores with the organisation’s own model when another has the same name and version', async () => {
    const reversed = sampleBundle({ weights: [-0.01, -1, -0.25, -0.75, 0.25, 0.5], intercept: 0.5 });
    const carol = await workspace(service, { bundle: reversed });
    const { score } = sampleAnswer(large);
    const rows = await Promise.all([ada, carol, ada, carol].map(async (own) => scoredRow(await own.score([large]))));
    expect(rows.map((row) => row.score)).to.deep.equal([score, 100 - score, score, 100 - score]);
  });

  it('keeps the same Idempotency-Key of two organisations apart', async () => {
    const headers = { 'idempotency-key': 'nightly-import-1' };
    const replies: HttpReply[] = [];
    for (const own of [ada, bob, ada, bob]) replies.push(await own.score([large], { headers }));
    expect(replies.map((reply) => reply.headers.get('idempotent-replayed'))).to.deep.equal([
      null,
      null,
      'true',
      'true',
    ]);
    expect(replies.map((reply) => scored(reply).model_id)).to.deep.equal([
      ada.model._id,
      bob.model._id,
      ada.model._id,
      bob.model._id,
    ]);
    expect([await ada.ledgerSum(), await bob.ledgerSum()]).to.deep.equal([1, 1]);
  });

  it('counts each organisation on its own, up to the backstop, in both buckets', async () => {
    const leads = Array.from({ length: 20 }, () => large);
    expect(scored(await ada.score(leads)).usage).to.include({ current: 20, in_grace: true });
    refused(await ada.score([large]), '429 quota_exceeded');
    expect(scored(await bob.score([large])).usage).to.include({ current: 1, in_grace: false });
    scored(await ada.score(leads, { key: ada.test }));
    expect(scored(await bob.score([large], { key: bob.test })).usage.current).to.equal(1);
  });

  it('applies verdict and policy to the models of their own organisation only', async () => {
    const verdict = {
      state: 'failed',
      failing_gate: 'top_band_lift',
      summary: 'Failed at top_band_lift: ….',
    } as const;
    const blocked = await workspace(service, { policy: 'block', verdict });
    refused(await blocked.score([large]), '409 deploy_blocked');
    expect(scored(await bob.score([large])).validation.state).to.equal('too_early_to_grade');
  });

  it('stores calls and predictions with the ids of their own organisation only', async () => {
    await Promise.all([ada.score([{ ...large, crm_id: 'L-1' }]), bob.score([{ ...small, crm_id: 'L-1' }])]);
    for (const own of [ada, bob]) {
      const [row, ...otherRows] = await own.ledgerRows();
      const [prediction, ...otherPredictions] = await own.predictions();
      expect(otherRows).to.deep.equal([]);
      expect(otherPredictions).to.deep.equal([]);
      expect(row).to.include({ key: own.live.key._id, model: own.model._id });
      expect(prediction).to.include({ model: own.model._id, crm_id: 'L-1', _id: `${row?._id}.0000` });
    }
  });
});
