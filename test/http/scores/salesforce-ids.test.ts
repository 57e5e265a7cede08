import { expect } from 'chai';
import { refused, scored, scoredRow } from '../../support/http/score-reply.js';
import { sampleAnswer } from '../../support/models/sample-answer.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace } from '../../support/service/workspace.js';
import { type History, read, scoresOf } from './history.js';

const [short, long, other] = ['001A0000006Vm9u', '001A0000006Vm9uIAC', '001A0000006VM9u'] as const;
const large = { company_size: 150, demo_requested: true, lead_source: 'Referral' };
const small = { company_size: 5, demo_requested: false, lead_source: 'Fair' };

describe("the two forms of Salesforce's ids", () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  });

  const delta = sampleAnswer(small).score - sampleAnswer(large).score;

  for (const [first, second] of [
    [long, short],
    [short, long],
  ] as const)
    it(`find the score of ${first} as the previous one of ${second}, and each answer echoes its own`, async () => {
      const before = scoredRow(await own.score([{ ...large, crm_id: first }]));
      expect(before).to.deep.equal({ ...sampleAnswer(large), enriched: false, crm_id: first });
      const after = scoredRow(await own.score([{ ...small, crm_id: second }]));
      const found = { enriched: true, previous_score: sampleAnswer(large).score, delta };
      expect(after).to.deep.equal({ ...sampleAnswer(small), crm_id: second, ...found });
      const { scores } = scored(await own.score([{ ...small, crm_id: other }]));
      expect(scores[0], 'another lead').to.include({ enriched: false, crm_id: other });
    });

  it('find the score of a webhook that sends Id', async () => {
    await own.score([{ ...large, crm_id: short }]);
    const body = { model_id: own.model._id, ...small, Id: long, input_report: 'records' };
    const reply = await own.call('/v1/webhooks/score', { body });
    const answer = read<Readonly<Record<string, unknown>>>(reply);
    expect(answer.input).to.deep.include({ unread: [], ignored: [] });
    expect(answer).to.include({ crm_id: long, previous_score: sampleAnswer(large).score, delta });
  });

  it('list the same scores, and erase them, also from stored replies', async () => {
    const headers = { 'idempotency-key': 'one' };
    const records = [{ ...large, crm_id: long }];
    await own.score(records, { headers });
    await own.score([{ ...small, crm_id: short }]);
    for (const form of [short, long]) {
      const history = read<History>(await own.call(scoresOf(form)));
      expect(history.crm_id).to.equal(form);
      expect(history.scores.map(({ score }) => score)).to.deep.equal(
        [small, large].map((lead) => sampleAnswer(lead).score),
      );
    }
    expect((await own.call(scoresOf(short), { method: 'DELETE' })).status).to.equal(204);
    const replayed = await own.score(records, { headers });
    expect(replayed.headers.get('idempotent-replayed')).to.equal('true');
    expect(replayed.text).not.to.include(long);
    for (const form of [short, long]) refused(await own.call(scoresOf(form)), '404 not_found');
  });

  for (const form of [short, long])
    it(`are both erased by ${form}, with the outcome of the lead`, async () => {
      await own.score([
        { ...large, crm_id: long },
        { ...large, crm_id: other },
      ]);
      await own.score([{ ...small, crm_id: short }]);
      const outcomes = [{ crm_id: long, converted: true, at: '2026-03-01' }];
      expect((await own.call('/v1/outcomes', { body: { outcomes } })).status).to.equal(200);
      expect((await own.call(scoresOf(form), { method: 'DELETE' })).status).to.equal(204);
      expect((await own.predictions()).map(({ crm_id }) => crm_id)).to.have.members([undefined, other, undefined]);
      expect(await service.stores.database.collection('outcomes').countDocuments({ org: own.id })).to.equal(0);
      refused(await own.call(scoresOf(form), { method: 'DELETE' }), '404 not_found');
    });

  it('store one outcome, whose latest report counts', async () => {
    for (const [crm_id, converted] of [
      [long, true],
      [short, false],
    ] as const) {
      const outcomes = [{ crm_id, converted, at: '2026-03-01' }];
      expect((await own.call('/v1/outcomes', { body: { outcomes } })).status).to.equal(200);
    }
    const stored = await service.stores.database.collection('outcomes').find({ org: own.id }).toArray();
    expect(stored.map(({ crm_id, converted }) => [crm_id, converted])).to.deep.equal([[short, false]]);
  });
});
