import { expect } from 'chai';
import type { HttpReply } from '../../support/http/http-call.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { scoredWebhook } from '../../support/http/webhook-answer.js';
import { sampleAnswer } from '../../support/models/sample-answer.js';
import type { RunningService } from '../../support/service/service.js';
import { type CallOptions, onOwnWorkspace, type TestWorkspace, workspace } from '../../support/service/workspace.js';

const path = '/v1/webhooks/score';
const lead = { company_size: 120, lead_source: 'Referral' };

describe('200 of POST /v1/webhooks/score', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  });

  const send = (body: object, options: CallOptions & { query?: string } = {}): Promise<HttpReply> =>
    own.call(path + (options.query ?? ''), { ...options, body: { model_id: own.model._id, ...body } });
  it('returns a flat object of row, model, usage and verdict, with strings for usage and verdict', async () => {
    const answer = scoredWebhook(await send({ ...lead, crm_id: 'L-1' }));
    const { validation } = answer;
    expect(answer).to.deep.equal({
      ...sampleAnswer(lead),
      enriched: false,
      crm_id: 'L-1',
      model_id: own.model._id,
      model_version: '1.0.0',
      usage: { current: 1, limit: 10_000, remaining: 9_999, in_grace: false, backstop: 20_000 },
      validation,
      usage_remaining: '9999',
      validation_state: 'too_early_to_grade',
      validation_summary: validation.summary,
    });
    expect(validation).to.include({ state: 'too_early_to_grade', failing_gate: 'predictions_recorded' });
  });

  it('returns previous_score and delta for a known lead, and omits absent members', async () => {
    await own.score([{ company_size: 10, crm_id: 'L-1' }]);
    const { score: before } = sampleAnswer({ company_size: 10 });
    const after = sampleAnswer(lead);
    const known = scoredWebhook(await send({ ...lead, crm_id: 'L-1' }));
    expect(known).to.include({ enriched: true, previous_score: before, delta: after.score - before });
    const anonymous = scoredWebhook(await send(lead));
    for (const name of ['crm_id', 'previous_score', 'delta', 'warnings', 'test', 'drivers', 'outputFields'])
      expect(anonymous).to.not.have.property(name);
    expect(Object.values(anonymous)).to.not.include(null);
  });

  it('returns test: true and the usage of the free bucket for a test key', async () => {
    const answer = scoredWebhook(await send(lead, { key: own.test }));
    expect(answer).to.deep.include({
      test: true,
      usage_remaining: '999',
      usage: { current: 1, limit: 1_000, remaining: 999, in_grace: false, backstop: null },
    });
    expect(await own.ledgerSum()).to.equal(0);
    expect(await own.ledgerSum('test')).to.equal(1);
  });

  it('returns a negative usage_remaining in the grace band', async () => {
    const small = await workspace(service, { limit: 1 });
    const body = { model_id: small.model._id, ...lead };
    const answers = [await small.call(path, { body }), await small.call(path, { body })].map(scoredWebhook);
    expect(answers.map(({ usage_remaining }) => usage_remaining)).to.deep.equal(['0', '-1']);
    refused(await small.call(path, { body }), '429 quota_exceeded');
  });

  it('returns the common headers, and meters the call as a batch of one', async () => {
    const reply = await send(lead, { headers: { 'x-request-id': 'crm-17' } });
    expect(reply.headers.get('x-request-id')).to.equal('crm-17');
    expect(reply.headers.get('ratelimit')).to.match(/^"key";r=\d+;t=1$/);
    expect(reply.headers.get('content-type')).to.equal('application/json; charset=utf-8');
    expect(reply.headers.get('deprecation')).to.equal(null);
    const [row] = await own.ledgerRows();
    expect(row).to.deep.include({ request_id: 'crm-17', records: 1, bucket: 'live', key: own.live.key._id });
    const { usage } = scored(await own.score([lead]));
    expect(usage.current).to.equal(2);
  });

  it('returns no drivers when explain is off in the body or in the query', async () => {
    for (const reply of [await send({ ...lead, explain: '0' }), await send(lead, { query: '?explain=false' })])
      expect(scoredWebhook(reply)).to.not.have.any.keys('drivers', 'top_reason_1', 'explain');
    const { score } = scoredWebhook(await send(lead, { query: '?explain=1' }));
    expect(score).to.equal(sampleAnswer(lead).score);
  });

  describe('authentication', () => {
    const basic = (secret: string) => `Basic ${Buffer.from(`${secret}:x`).toString('base64')}`;
    let other: TestWorkspace;

    beforeEach(async () => {
      other = await workspace(service);
    });

    /** The organisation that a call with these headers is counted for. */
    async function countedFor(headers: Record<string, string>): Promise<string> {
      const [own_, other_] = [await own.ledgerSum(), await other.ledgerSum()];
      for (const modelId of [own.model._id, other.model._id]) {
        const body = { model_id: modelId, ...lead };
        const reply = await own.call(path, { key: null, headers, body });
        if (reply.status !== 200) refused(reply, '404 model_not_found');
      }
      const counted = [(await own.ledgerSum()) - own_, (await other.ledgerSum()) - other_];
      return counted.join() === '1,0' ? 'own' : counted.join() === '0,1' ? 'other' : counted.join();
    }

    it('accepts the key as Bearer, in X-API-Key, or as the user name of Basic', async () => {
      for (const headers of [
        { authorization: `Bearer ${own.live.secret}` },
        { authorization: `bearer ${own.live.secret}` },
        { 'x-api-key': own.live.secret },
        { 'x-api-key': ` ${own.live.secret} ` },
        { authorization: basic(own.live.secret) },
        { authorization: basic(`${own.live.secret}:${own.live.secret}`) },
        { authorization: `basic ${Buffer.from(own.live.secret).toString('base64url')}` },
      ])
        expect(await countedFor(headers), JSON.stringify(headers)).to.equal('own');
    });

    it('prefers Bearer to X-API-Key to Basic', async () => {
      const bearer = { authorization: `Bearer ${own.live.secret}`, 'x-api-key': other.live.secret };
      expect(await countedFor(bearer)).to.equal('own');
      expect(await countedFor({ ...bearer, 'x-api-key': 'no key' })).to.equal('own');
      const header = { authorization: basic(other.live.secret), 'x-api-key': own.live.secret };
      expect(await countedFor(header)).to.equal('own');
    });
  });
});
