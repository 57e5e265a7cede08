import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { refused } from '../../support/http/score-reply.js';
import { scoredWebhook } from '../../support/http/webhook-answer.js';
import { sampleAnswer } from '../../support/models/sample-answer.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace, workspace } from '../../support/service/workspace.js';

const path = '/v1/webhooks/score';
const manyCalls = 160;

/** Concurrent single records share a chunk to the worker. Each must get the same reply as if it were alone. */
describe('concurrent calls to POST /v1/webhooks/score', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace(async (fresh, running) => {
    [own, service] = [fresh, running];
    await own.score([{ company_size: 1, crm_id: 'known' }]); // loads the model
  });

  const send = (body: object, headers: Record<string, string> = {}) =>
    own.call(path, { gateway: 0, headers, body: { model_id: own.model._id, ...body } });

  it('returns its own score to each valid call, counted once, and its own error to each invalid call', async () => {
    const leads = Array.from({ length: manyCalls }, (_, index) => ({
      company_size: index,
      crm_id: `L-${index}`,
    }));
    const bad: readonly [object, `${number} ${string}`, RegExp][] = [
      [{ company_size: { deep: 1 } }, '400 bad_request', /^record\.company_size: expected a number, came an object/],
      [{ lead_source: ['a', 'b'] }, '400 bad_request', /^record\.lead_source: expected one text/],
      [{ colour: 'red' }, '400 bad_request', /^record: expected at least one field/],
      [{ crm_id: 1.5 }, '422 bad_request', /crm_id/],
      [{ model_id: 'mdl_unknown' }, '404 model_not_found', /no model/],
    ];
    const isBad = (index: number): boolean => index % 4 === 3;
    const before = await own.ledgerSum();
    const replies = await Promise.all(
      leads.map((lead, index) => send(isBad(index) ? (bad[index % bad.length]?.[0] ?? {}) : lead)),
    );
    for (const [index, reply] of replies.entries()) {
      const [, outcome, message] = bad[index % bad.length] ?? [];
      if (!isBad(index)) {
        const { company_size } = leads[index] ?? { company_size: -1 };
        expect(scoredWebhook(reply)).to.include({ ...sampleAnswer({ company_size }), crm_id: `L-${index}` });
      } else if (outcome !== undefined && message !== undefined) {
        expect(refused(reply, outcome).error.message).to.match(message);
      }
    }
    const good = leads.filter((_, index) => !isBad(index));
    expect(await own.ledgerSum()).to.equal(before + good.length);
    const rows = (await own.ledgerRows()).slice(1);
    expect(rows.map(({ records }) => records)).to.deep.equal(good.map(() => 1));
    const predictions = (await own.predictions()).slice(1);
    expect(predictions.map(({ crm_id }) => crm_id)).to.have.members(good.map(({ crm_id }) => crm_id));
    await eventually(async () => {
      expect(await own.redisUsage()).to.deep.equal({ used: before + good.length, leased: 0 });
    });
  });

  it('scores each of many concurrent calls with its own key kind and model', async () => {
    const other = await own.addModel({ bundle: sampleBundle({ name: 'Other', intercept: 1, version: '2' }) });
    await own.score([{ company_size: 1 }], { modelId: other._id });
    const kinds = ['live', 'test', 'other model'] as const;
    const replies = await Promise.all(
      Array.from({ length: 96 }, (_, index) => {
        const kind = kinds[index % kinds.length];
        const key = kind === 'test' ? own.test : own.live;
        const model_id = kind === 'other model' ? other._id : own.model._id;
        return own.call(path, { gateway: 0, key, body: { model_id, company_size: index } });
      }),
    );
    const answers = replies.map(scoredWebhook);
    for (const [index, answer] of answers.entries()) {
      const kind = kinds[index % kinds.length];
      expect(answer.test).to.equal(kind === 'test' ? true : undefined);
      expect(answer.model_id).to.equal(kind === 'other model' ? other._id : own.model._id);
      if (kind !== 'other model') expect(answer).to.include(sampleAnswer({ company_size: index }));
      else expect(answer.score).to.be.above(sampleAnswer({ company_size: index }).score - 1);
    }
    expect(await own.ledgerSum('test')).to.equal(32);
    expect(await own.ledgerSum('live')).to.equal(2 + 64);
  });

  it('scores each of many concurrent calls for one lead, with one of its scores as previous_score', async () => {
    const scores = [40, 80, 120].map((company_size) => sampleAnswer({ company_size }).score);
    const previous = [...scores, sampleAnswer({ company_size: 1 }).score];
    const replies = await Promise.all(
      Array.from({ length: 48 }, (_, index) => send({ company_size: 40 * (1 + (index % 3)), crm_id: 'known' })),
    );
    for (const [index, reply] of replies.entries()) {
      const { score, enriched, previous_score, delta } = scoredWebhook(reply);
      expect({ score, enriched }).to.deep.equal({ score: scores[index % 3], enriched: true });
      expect(previous_score).to.be.oneOf(previous);
      expect(delta).to.equal(score - (previous_score ?? 0));
    }
  });

  it('returns 429 only to calls beyond the quota, which the others fill exactly', async () => {
    const small = await workspace(service, { limit: 10 });
    const body = { model_id: small.model._id, company_size: 5 };
    const replies = await Promise.all(Array.from({ length: 50 }, () => small.call(path, { gateway: 0, body })));
    const passed = replies.filter(({ status }) => status === 200);
    expect(passed).to.have.length(20);
    for (const reply of replies) if (reply.status !== 200) refused(reply, '429 quota_exceeded');
    const currents = passed.map((reply) => scoredWebhook(reply).usage.current);
    expect(new Set(currents), 'distinct usage values').to.have.property('size', 20);
    expect(await small.ledgerSum()).to.equal(20);
  });
});
