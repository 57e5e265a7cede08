import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { publishChange } from '../../../shared/redis/changes.js';
import { eventually } from '../../support/eventually.js';
import { rawCall } from '../../support/http/raw-connection.js';
import { refused, type ScoreRow, scored, scoredRow } from '../../support/http/score-reply.js';
import { sampleAnswer } from '../../support/models/sample-answer.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { oddInputs } from '../bad-inputs/accepted.js';
import { type BadInputRig, badInputRig } from '../bad-inputs/rig.js';

const lead = { company_size: 120, demo_requested: true, lead_source: 'Referral' };
const tooEarly = {
  state: 'too_early_to_grade',
  failing_gate: 'predictions_recorded',
  summary:
    'Too early to grade at predictions_recorded: no grade has counted the predictions of this version yet; ' +
    'the worker pools grade a new version within 15 minutes.',
};
const dayMs = 24 * 60 * 60 * 1000;

describe('200 of POST /v1/score', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  }, 'twoGateways');

  it('returns exactly the members of the contract to a live key', async () => {
    const reply = await own.score([{ ...lead, crm_id: 'L-1' }, { company_size: 10 }]);
    expect(scored(reply)).to.deep.equal({
      model_id: own.model._id,
      model_version: '1.0.0',
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

  it('returns test: true and the usage of the free bucket, without a backstop, to a test key', async () => {
    const reply = await own.score([{ ...lead, crm_id: 'L-1' }], { key: own.test });
    expect(scored(reply)).to.deep.equal({
      model_id: own.model._id,
      model_version: '1.0.0',
      scores: [{ ...sampleAnswer(lead), enriched: false, crm_id: 'L-1' }],
      records_scored: 1,
      cache_hits: 0,
      usage: { current: 1, limit: 1_000, remaining: 999, in_grace: false, backstop: null },
      validation: tooEarly,
      test: true,
    });
  });

  it('returns previous_score and delta for a known lead, and counts a cache hit', async () => {
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

  it('returns UTF-8 JSON that repeats a crm_id in any script', async () => {
    const crmId = 'Łódź "№ 7" \u2028 🦊 \\';
    const reply = await own.score([{ ...lead, crm_id: crmId }]);
    expect(scoredRow(reply).crm_id).to.equal(crmId);
    expect(reply.headers.get('content-type')).to.equal('application/json; charset=utf-8');
  });

  it('returns no drivers and no reasons without explain: true', async () => {
    const plain = await own.score([lead]);
    for (const reply of [plain, await own.score([lead], { explain: false })]) {
      expect(scoredRow(reply)).to.have.all.keys('score', 'conversion_likelihood', 'enriched');
    }
    const { score, conversion_likelihood } = scoredRow(await own.score([lead], { explain: true }));
    expect({ score, conversion_likelihood }).to.deep.equal(sampleAnswer(lead));
  });

  it('ignores unknown fields of any name, and unknown members of the body', async () => {
    const odd =
      '{"$where":1,"a.b":{"c":[1]},"toString":2,"toJSON":3,"_bsontype":"Code","__proto__":{"x":1},"company_size":120}';
    const reply = await own.post(`{"model_id":"${own.model._id}","records":[${odd}],"metadata":{"a":1}}`);
    const { score, conversion_likelihood } = scoredRow(reply);
    expect({ score, conversion_likelihood }).to.deep.equal(sampleAnswer({ company_size: 120 }));
  });

  describe('headers', () => {
    it('returns a well-formed X-Request-Id as sent, and stores it in the ledger', async () => {
      const id = 'run_7.of:2026-11';
      const reply = await own.score([lead], { headers: { 'x-request-id': id } });
      expect(reply.headers.get('x-request-id')).to.equal(id);
      expect((await own.ledgerRows()).map((row) => row.request_id)).to.deep.equal([id]);
      const again = await own.score([lead], { headers: { 'x-request-id': id } });
      expect(scored(again).usage.current, 'both calls are counted').to.equal(2);
    });

    for (const [what, sent] of [
      ['an X-Request-Id longer than 128 characters', 'x'.repeat(129)],
      ['an X-Request-Id with a forbidden character', 'a b'],
      ['no X-Request-Id', undefined],
    ] as const) {
      it(`returns a new X-Request-Id for ${what}`, async () => {
        const headers = sent === undefined ? {} : { 'x-request-id': sent };
        const ids = [await own.score([lead], { headers }), await own.score([lead], { headers })].map((reply) =>
          reply.headers.get('x-request-id'),
        );
        for (const id of ids) expect(id).to.match(/^[A-Za-z0-9._:-]{1,128}$/);
        expect(ids[0]).to.not.equal(ids[1]);
      });
    }

    it('returns the sent X-Request-Id with errors', async () => {
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

    it('returns RateLimit headers to a caller with a key, and none without', async () => {
      const key = await own.addKey('live', { rate: 10 });
      const headersOf = (reply: { headers: Headers }) =>
        ['ratelimit-policy', 'ratelimit', 'retry-after'].map((name) => reply.headers.get(name));
      const replies = await Promise.all([own.score([lead], { key }), own.post('{', { key })]);
      expect(replies.map(headersOf).sort()).to.deep.equal([
        ['"key";q=10;w=1', '"key";r=8;t=1', null],
        ['"key";q=10;w=1', '"key";r=9;t=1', null],
      ]);
      const unauthenticated = await own.score([lead], { headers: { authorization: 'Bearer no' } });
      expect(headersOf(unauthenticated)).to.deep.equal([null, null, null]);
    });
  });

  describe('plans', () => {
    it('returns 200 to a test key on the Free plan', async () => {
      const free = await workspace(service, { plan: 'free' });
      const { usage, test } = scored(await free.score([lead], { key: free.test }));
      expect({ usage, test }).to.deep.equal({
        test: true,
        usage: { current: 1, limit: 1_000, remaining: 999, in_grace: false, backstop: null },
      });
    });

    it('returns 200 with the limit of Pro to both keys during a trial', async () => {
      const trialEndsAt = new Date(service.clock.now() + dayMs);
      const trial = await workspace(service, { plan: 'trial', trialEndsAt });
      expect(scored(await trial.score([lead])).usage).to.include({ limit: 10_000, backstop: 20_000 });
      scored(await trial.score([lead], { key: trial.test }));
    });

    it('returns 200 to both keys on a paid plan after the trial ended', async () => {
      const trialEndsAt = new Date(service.clock.now() - dayMs);
      const paid = await workspace(service, { plan: 'pro', trialEndsAt });
      scored(await paid.score([lead]));
      scored(await paid.score([lead], { key: paid.test }));
    });

    it('returns the larger limit of Enterprise', async () => {
      const large = await workspace(service, { plan: 'enterprise' });
      expect(scored(await large.score([lead])).usage).to.include({ limit: 30_000, backstop: 60_000 });
    });
  });

  it('ignores malformed messages on the change channel', async () => {
    scored(await own.score([lead]));
    for (const text of ['', '{', 'null', '[]', '{"kind":"key"}', '{"kind":"planet","id":"x"}', '{"kind":"key","id":7}'])
      await service.redis.publish('leadscore:changes', text);
    await publishChange(service.redis, { kind: 'key', id: 'unknown' });
    for (const gateway of [0, 1]) scored(await own.score([lead], { gateway }));
  });
});

describe('200 of POST /v1/score: odd but valid inputs', () => {
  let service: RunningService;
  let rig: BadInputRig;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('twoGateways');
    // Not the shared rig: these calls are counted.
    rig = await badInputRig(service);
  });

  for (const { name, call, rows } of oddInputs) {
    it(`scores ${name}`, async () => {
      const reply = await rawCall(service.url(), call(rig));
      expect(reply.status, reply.text.slice(0, 500)).to.equal(200);
      const answer = JSON.parse(reply.text) as ScoreRow & { readonly scores?: readonly ScoreRow[] };
      const { scores = [answer] } = answer;
      const answered = scores.map(({ score, conversion_likelihood }) => ({ score, conversion_likelihood }));
      expect(answered).to.deep.equal(rows);
    });
  }

  it('counts each record of the odd inputs once, in the ledger and in Redis', async () => {
    const { own, nearlyExhausted, blocked } = rig;
    const organisations = [own, nearlyExhausted, blocked];
    const live = await Promise.all(organisations.map((organisation) => organisation.ledgerSum()));
    const records = oddInputs.reduce((sum, { rows }) => sum + rows.length, 0);
    // One record of nearlyExhausted was counted before; one odd input uses a test key.
    expect(live.reduce((sum, count) => sum + count)).to.equal(records + 1 - 1);
    expect(await nearlyExhausted.ledgerSum('test')).to.equal(1000);
    for (const organisation of organisations) await expectBooksAgree(organisation);
  });
});

/** Asserts that Redis and the ledger agree, and that no lease is left. */
async function expectBooksAgree(organisation: TestWorkspace): Promise<void> {
  for (const bucket of ['live', 'test'] as const) {
    await eventually(async () => {
      const used = await organisation.ledgerSum(bucket);
      expect(await organisation.redisUsage(bucket)).to.deep.equal({ used, leased: 0 });
    });
  }
}
