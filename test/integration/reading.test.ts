import { expect } from 'chai';
import { rateWindowKey } from '../../shared/redis/keys.js';
import { eventually } from '../support/eventually.js';
import type { HttpReply } from '../support/http/http-call.js';
import { rawCall } from '../support/http/raw-connection.js';
import { refused, scored, scoredRow } from '../support/http/score-reply.js';
import { sampleAnswer } from '../support/models/sample-answer.js';
import { sampleBundle, sampleFeatures } from '../support/models/sample-bundle.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';

interface History {
  readonly crm_id: string;
  readonly scores: readonly Readonly<Record<string, unknown>>[];
  readonly next_cursor?: string;
}

const lead = { company_size: 120, lead_source: 'Referral' };

/** The JSON of a reading call that must have passed. */
function read<Answer>(reply: HttpReply): Answer {
  expect(reply.status, reply.text.slice(0, 500)).to.equal(200);
  expect(reply.headers.get('content-type')).to.equal('application/json; charset=utf-8');
  expect(reply.headers.has('x-request-id')).to.equal(true);
  return JSON.parse(reply.text) as Answer;
}

describe('reading', () => {
  let service: RunningService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });
  beforeEach(async () => {
    own = await workspace(service);
  });

  const scoresOf = (crmId: string, query = ''): string => `/v1/scores/${encodeURIComponent(crmId)}${query}`;
  const scoreSizes = async (crm_id: string, sizes: readonly number[], modelId = own.model._id) => {
    for (const company_size of sizes) scored(await own.score([{ company_size, crm_id }], { modelId }));
  };

  describe('GET /v1/usage', () => {
    it('tells each key the usage of its own bucket, with the month and when it resets', async () => {
      const { usage } = scored(await own.score([lead, lead]));
      const { usage: tested } = scored(await own.score([lead], { key: own.test }));
      const now = new Date(service.clock.now());
      const month = now.toISOString().slice(0, 7);
      const resets_at = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString();
      expect(read(await own.call('/v1/usage'))).to.deep.equal({ ...usage, month, resets_at });
      expect(read(await own.call('/v1/usage', { key: own.test }))).to.deep.equal({
        ...tested,
        month,
        resets_at,
      });
      expect(usage).to.include({ current: 2, backstop: 20_000 });
      expect(tested).to.include({ current: 1, backstop: null });
    });

    it('of an organisation that has not scored is 0, and reading it counts nothing', async () => {
      for (const _again of [1, 2]) expect(read(await own.call('/v1/usage'))).to.include({ current: 0 });
      expect(await own.ledgerSum()).to.equal(0);
    });
  });

  describe('GET /v1/models', () => {
    it('lists the organisation’s models with verdict and switch, and no deleted one', async () => {
      const off = await own.addModel({ liveApi: false, bundle: sampleBundle({ name: 'Off', version: '7' }) });
      const timing = await own.addModel({ bundle: sampleBundle({ family: 'timing' }) });
      const gone = await own.addModel();
      await service.stores.models.update(gone._id, { deleted_at: new Date(service.clock.now()) });
      const { models } = read<{ models: { model_id: string; validation: object }[] }>(
        await own.call('/v1/models'),
      );
      expect(models.map(({ model_id }) => model_id)).to.have.members([own.model._id, off._id, timing._id]);
      const listed = (id: string) => models.find(({ model_id }) => model_id === id);
      expect(listed(off._id)).to.deep.include({
        name: 'Off',
        version: '7',
        family: 'forward',
        live_api: false,
      });
      expect(listed(own.model._id)).to.deep.include({ name: 'Sample score', live_api: true });
      expect(listed(own.model._id)?.validation).to.include({ state: 'too_early_to_grade' });
      expect(listed(timing._id)?.validation).to.include({ state: 'not_applicable', failing_gate: null });
    });

    it('tells each organisation only its own', async () => {
      const other = await workspace(service);
      expect((await other.call('/v1/models')).text).to.not.include(own.model._id);
      refused(await other.call(`/v1/models/${own.model._id}`), '404 model_not_found');
    });
  });

  describe('GET /v1/models/{model_id}', () => {
    it('tells the fields that a caller may send, what is required of them, and how reasons come about', async () => {
      const recency = { field: 'seen_at', max_age_days: 30 };
      const model = await own.addModel({ bundle: sampleBundle({ manifest: { recency } }) });
      const answer = read<Record<string, unknown>>(await own.call(`/v1/models/${model._id}`));
      expect(answer).to.deep.include({
        model_id: model._id,
        name: 'Sample score',
        version: '1.0.0',
        recency,
        explain: { method: 'linear' },
        fields: [
          { field: 'company_size', label: 'Company size', type: 'number', required: false },
          { field: 'demo_requested', label: 'Demo requested', type: 'boolean', required: false },
          {
            field: 'lead_source',
            label: 'Lead source',
            type: 'category',
            required: false,
            categories: ['Webinar', 'Referral'],
          },
        ],
      });
      const plain = read<object>(await own.call(`/v1/models/${own.model._id}`));
      expect(plain).to.not.have.property('recency');
    });

    it('names the other names of a field, and trees as the source of reasons', async () => {
      const features = sampleFeatures.map((feature) => ({ ...feature, aliases: [`${feature.field}_alias`] }));
      const model = await own.addModel({ bundle: sampleBundle({ features, model: 'tree' }) });
      const { fields, explain } = read<{ fields: object[]; explain: object }>(
        await own.call(`/v1/models/${model._id}`),
      );
      expect(fields[0]).to.deep.include({ field: 'company_size', aliases: ['company_size_alias'] });
      expect(explain).to.deep.equal({ method: 'tree' });
    });
  });

  describe('GET /v1/scores/{crm_id}', () => {
    it('lists what a lead was scored, newest first, in batches, webhooks and under every model', async () => {
      const other = await own.addModel({ bundle: sampleBundle({ version: '9' }) });
      await scoreSizes('L-1', [10, 20]);
      await scoreSizes('L-1', [30], other._id);
      await own.call('/v1/webhooks/score', {
        body: { model_id: own.model._id, company_size: 40, crm_id: 'L-1' },
      });
      const { crm_id, scores, ...rest } = read<History>(await own.call(scoresOf('L-1')));
      expect(crm_id).to.equal('L-1');
      expect(rest).to.deep.equal({});
      const expected = [40, 30, 20, 10].map((company_size) => ({
        model_id: company_size === 30 ? other._id : own.model._id,
        model_version: company_size === 30 ? '9' : '1.0.0',
        ...sampleAnswer({ company_size }),
      }));
      expect(scores.map(({ scored_at, ...score }) => score)).to.deep.equal(expected);
      const times = scores.map(({ scored_at }) => Date.parse(String(scored_at)));
      expect(times).to.deep.equal([...times].sort((a, b) => b - a));
      const only = read<History>(await own.call(scoresOf('L-1', `?model_id=${other._id}`)));
      expect(only.scores).to.have.length(1);
      expect(read<History>(await own.call(scoresOf('L-1', '?model_id=mdl_none'))).scores).to.deep.equal([]);
      expect(read<History>(await own.call(scoresOf('L-1', '?model_id='))).scores).to.deep.equal(scores);
    });

    it('finds a crm_id of any characters, exactly', async () => {
      for (const crmId of ['a/b', 'a b', '100%', 'ä?#&+', '🦊', '..', '%2F', 'a\\b', "'$ne"]) {
        await scoreSizes(crmId, [5]);
        const headers = { Authorization: `Bearer ${own.live.secret}` };
        // not by fetch, which takes ".." for the folder above
        const reply = await rawCall(service.url(), { method: 'GET', path: scoresOf(crmId), headers });
        expect(read<History>(reply).crm_id).to.equal(crmId);
      }
      refused(await own.call(scoresOf('A/B')), '404 not_found');
      refused(await own.call(scoresOf('a b ')), '404 not_found');
    });

    it('reads live scores with a test key, and never another organisation’s', async () => {
      await scoreSizes('L-1', [5]);
      expect(read<History>(await own.call(scoresOf('L-1'), { key: own.test })).scores).to.have.length(1);
      await own.score([{ ...lead, crm_id: 'L-tested' }], { key: own.test });
      refused(await own.call(scoresOf('L-tested')), '404 not_found');
      const other = await workspace(service);
      refused(await other.call(scoresOf('L-1')), '404 not_found');
      refused(await other.call(scoresOf('L-1'), { method: 'DELETE' }), '404 not_found');
      expect(read<History>(await own.call(scoresOf('L-1'))).scores).to.have.length(1);
    });
  });

  describe('DELETE /v1/scores/{crm_id}', () => {
    it('takes id and fields out of every prediction, leaves what was counted, and the lead is cold again', async () => {
      const other = await own.addModel({ bundle: sampleBundle({ version: '9' }) });
      await scoreSizes('L-1', [10, 20]);
      await scoreSizes('L-1', [30], other._id);
      await scoreSizes('L-2', [40]);
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

    it('is refused where it names a model, as if it erased the scores of no other', async () => {
      await scoreSizes('L-1', [10]);
      const path = scoresOf('L-1', `?model_id=${own.model._id}`);
      const { error } = refused(await own.call(path, { method: 'DELETE' }), '400 bad_request');
      expect(error.message).to.include('erases the scores of all models');
      expect(read<History>(await own.call(scoresOf('L-1'))).scores).to.have.length(1);
      expect((await own.call(scoresOf('L-1', '?model_id='), { method: 'DELETE' })).status).to.equal(204);
    });

    it('of a lead without fields leaves it with nothing to be scored from', async () => {
      await scoreSizes('L-1', [10]);
      await own.call(scoresOf('L-1'), { method: 'DELETE' });
      refused(await own.score([{ crm_id: 'L-1' }]), '400 bad_request');
    });
  });

  it('works in every state in which scoring does not', async () => {
    await scoreSizes('L-1', [10]);
    const past = new Date(service.clock.now() - 1_000);
    const states: [() => Promise<unknown>, `${number} ${string}`][] = [
      [() => own.change({ plan: 'trial', trial_ends_at: past }), '402 expired_read_only'],
      [() => own.change({ plan: 'free' }), '429 quota_exceeded'],
      [() => own.change({ plan: 'pro', policy: 'block' }), '409 deploy_blocked'],
      [() => own.changeModel(own.model._id, { live_api: false }), '403 api_disabled'],
    ];
    for (const [enter, as] of states) {
      await enter();
      for (const gateway of [0, 1]) {
        await eventually(async () => refused(await own.score([lead], { gateway }), as));
        for (const key of [own.live, own.test]) {
          for (const path of ['/v1/usage', '/v1/models', `/v1/models/${own.model._id}`, scoresOf('L-1')])
            read(await own.call(path, { gateway, key }));
        }
      }
    }
    expect((await own.call(scoresOf('L-1'), { method: 'DELETE' })).status).to.equal(204);
  });

  describe('has a rate of its own, ten times that of scoring:', () => {
    it('says so, and what is left of it', async () => {
      const key = await own.addKey('live', { rate: 3 });
      const reply = await own.call('/v1/usage', { key });
      expect(reply.headers.get('ratelimit-policy')).to.equal('"key";q=30;w=1');
      expect(reply.headers.get('ratelimit')).to.equal('"key";r=29;t=1');
      const scoring = await own.score([lead], { key });
      expect(scoring.headers.get('ratelimit-policy')).to.equal('"key";q=3;w=1');
      expect(scoring.headers.get('ratelimit')).to.equal('"key";r=2;t=1');
    });

    it('what is used up of one is not missing from the other', async () => {
      const key = await own.addKey('live', { rate: 1 });
      /** Fills a window with calls of this moment. */
      const fill = async (window: 'scoring' | 'reading', calls: number) => {
        const [seconds = 0, micros = 0] = await service.redis.time();
        const nowUs = Number(seconds) * 1_000_000 + Number(micros);
        const slots = Array.from({ length: calls }, (_, call) => [nowUs, `filled ${call}`]).flat();
        await service.redis.zadd(rateWindowKey(own.id, key.key._id, window), ...slots);
      };
      await fill('reading', 10);
      const limited = await own.call('/v1/models', { key });
      expect(refused(limited, '429 rate_limited').error.message).to.include('More than 10 calls');
      expect(limited.headers.get('retry-after')).to.equal('1');
      scored(await own.score([lead], { key }));
      await service.redis.del(rateWindowKey(own.id, key.key._id, 'reading'));
      await fill('scoring', 1);
      refused(await own.score([lead], { key }), '429 rate_limited');
      read(await own.call('/v1/usage', { key }));
    });
  });
});
