import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { refused, scored, scoredRow } from '../support/http/score-reply.js';
import { sampleAnswer } from '../support/models/sample-answer.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';

const lead = { company_size: 120, demo_requested: true, lead_source: 'Referral' };
const tooEarly = {
  state: 'too_early_to_grade',
  failing_gate: 'predictions_recorded',
  summary:
    'Too early to grade at predictions_recorded: this model has not been graded yet; 200 predictions are required.',
};

describe('POST /v1/score: the response', () => {
  let service: RunningService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });
  beforeEach(async () => {
    own = await workspace(service);
  });

  it('to a live key has every field of the contract and no other', async () => {
    const reply = await own.score([{ ...lead, crm_id: 'L-1' }, { company_size: 10 }]);
    expect(scored(reply)).to.deep.equal({
      model_id: own.model._id,
      scores: [
        { ...sampleAnswer(lead), enriched: false, crm_id: 'L-1' },
        { ...sampleAnswer({ company_size: 10 }), enriched: false },
      ],
      records_scored: 2,
      cache_hits: 0,
      usage: { current: 2, limit: 10_000, remaining: 9_998, in_grace: false, backstop: 20_000 },
      validation: tooEarly,
    });
  });

  it('to a test key has the same fields, test: true, and the usage of the free bucket without a backstop', async () => {
    const reply = await own.score([{ ...lead, crm_id: 'L-1' }], { key: own.test });
    expect(scored(reply)).to.deep.equal({
      model_id: own.model._id,
      scores: [{ ...sampleAnswer(lead), enriched: false, crm_id: 'L-1' }],
      records_scored: 1,
      cache_hits: 0,
      usage: { current: 1, limit: 1_000, remaining: 999, in_grace: false, backstop: null },
      validation: tooEarly,
      test: true,
    });
  });

  it('has previous_score and delta for a record that was scored before, and counts it as a hit', async () => {
    await own.score([{ company_size: 10, crm_id: 'L-1' }]);
    const { score: before } = sampleAnswer({ company_size: 10 });
    const after = sampleAnswer(lead);
    const { scores, cache_hits } = scored(await own.score([{ ...lead, crm_id: 'L-1' }, lead]));
    expect(scores).to.deep.equal([
      { ...after, enriched: true, crm_id: 'L-1', previous_score: before, delta: after.score - before },
      { ...after, enriched: false },
    ]);
    expect(cache_hits).to.equal(1);
  });

  it('is JSON in UTF-8, with a crm_id of any script echoed as it was sent', async () => {
    const crmId = 'Łódź "№ 7" \u2028 🦊 \\';
    const reply = await own.score([{ ...lead, crm_id: crmId }]);
    expect(scoredRow(reply).crm_id).to.equal(crmId);
    expect(reply.headers.get('content-type')).to.equal('application/json; charset=utf-8');
  });

  it('has neither drivers nor reasons without explain, and accepts explain: true and explain: false', async () => {
    const plain = await own.score([lead]);
    for (const reply of [plain, await own.score([lead], { explain: false })]) {
      expect(scoredRow(reply)).to.have.all.keys('score', 'conversion_likelihood', 'enriched');
    }
    const { score, conversion_likelihood } = scoredRow(await own.score([lead], { explain: true }));
    expect({ score, conversion_likelihood }).to.deep.equal(sampleAnswer(lead));
  });

  it('ignores fields that the model does not know, whatever their names, and unknown members of the body', async () => {
    const odd =
      '{"$where":1,"a.b":{"c":[1]},"toString":2,"toJSON":3,"_bsontype":"Code","__proto__":{"x":1},"company_size":120}';
    const reply = await own.post(`{"model_id":"${own.model._id}","records":[${odd}],"metadata":{"a":1}}`);
    const { score, conversion_likelihood } = scoredRow(reply);
    expect({ score, conversion_likelihood }).to.deep.equal(sampleAnswer({ company_size: 120 }));
  });

  describe('headers', () => {
    it('echo an X-Request-Id of an allowed form, which also names the call in the ledger', async () => {
      const id = 'run_7.of:2026-11';
      const reply = await own.score([lead], { headers: { 'x-request-id': id } });
      expect(reply.headers.get('x-request-id')).to.equal(id);
      expect((await own.ledgerRows()).map((row) => row.request_id)).to.deep.equal([id]);
      const again = await own.score([lead], { headers: { 'x-request-id': id } });
      expect(scored(again).usage.current, 'the id makes no two calls one').to.equal(2);
    });

    for (const [what, sent] of [
      ['longer than 128 characters', 'x'.repeat(129)],
      ['with a character that is not allowed', 'a b'],
      ['that is not sent', undefined],
    ] as const) {
      it(`give an X-Request-Id of their own in place of one ${what}`, async () => {
        const headers = sent === undefined ? {} : { 'x-request-id': sent };
        const ids = [await own.score([lead], { headers }), await own.score([lead], { headers })].map(
          (reply) => reply.headers.get('x-request-id'),
        );
        for (const id of ids) expect(id).to.match(/^[A-Za-z0-9._:-]{1,128}$/);
        expect(ids[0]).to.not.equal(ids[1]);
      });
    }

    it('carry the X-Request-Id on refusals too', async () => {
      const id = randomUUID();
      const headers = { 'x-request-id': id };
      for (const reply of [await own.score([], { headers }), await own.post('{', { headers })])
        expect(reply.headers.get('x-request-id')).to.equal(id);
      const unauthenticated = await own.score([lead], {
        headers: { ...headers, authorization: 'Bearer no' },
      });
      refused(unauthenticated, '401 invalid_api_key');
      expect(unauthenticated.headers.get('x-request-id')).to.equal(id);
    });

    it('say the rate and what is left of it to whoever has a key, and to nobody else', async () => {
      const key = await own.addKey('live', { rate: 10 });
      const headersOf = (reply: { headers: Headers }) =>
        ['ratelimit-policy', 'ratelimit', 'retry-after'].map((name) => reply.headers.get(name));
      const replies = await Promise.all([own.score([lead], { key }), own.post('{', { key })]);
      expect(replies.map(headersOf).sort()).to.deep.equal([
        ['"key";q=10;w=1', '"key";r=8;t=1', null],
        ['"key";q=10;w=1', '"key";r=9;t=1', null],
      ]);
      const stranger = await own.score([lead], { headers: { authorization: 'Bearer no' } });
      expect(headersOf(stranger)).to.deep.equal([null, null, null]);
    });
  });
});
