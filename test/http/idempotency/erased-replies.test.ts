import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { UsageBucket } from '../../../shared/redis/keys.js';
import type { HttpReply } from '../../support/http/http-call.js';
import { OpenApiContract } from '../../support/http/openapi-contract.js';
import { scored } from '../../support/http/score-reply.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';

const crmId = 'L-"7"';
/** Values that occur nowhere else in a reply. */
const fields = { company_size: 170.625, lead_source: 'Webinar', last_activity: '2019-03-04' };
const tellingTexts = [crmId, JSON.stringify(crmId).slice(1, -1), '170.625', 'Webinar'];
const nothingToSay = { drivers: [], top_reason_1: null, top_reason_2: null, top_reason_3: null };

type Answer = Readonly<Record<string, unknown>>;

const answerOf = (reply: HttpReply): Answer => {
  expect(reply.status, reply.text.slice(0, 500)).to.equal(200);
  return JSON.parse(reply.text) as Answer;
};

/** An answer without the members that reveal a lead or its fields. */
const bare = ({ crm_id, drivers, top_reason_1, top_reason_2, top_reason_3, warnings, ...rest }: Answer) => rest;

describe('stored replies after a lead was erased', () => {
  let service: RunningService;
  let contract: OpenApiContract;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
    contract = await OpenApiContract.of(service.url());
  });
  beforeEach(async () => {
    const recency = { field: 'last_activity', max_age_days: 90 };
    own = await workspace(service, { bundle: sampleBundle({ manifest: { recency } }) });
  });

  const erase = async (): Promise<void> => {
    // A test key stores no prediction, so this score gives the lead something to erase.
    scored(await own.score([{ crm_id: crmId, company_size: 1 }]));
    const path = `/v1/scores/${encodeURIComponent(crmId)}`;
    expect((await own.call(path, { method: 'DELETE' })).status).to.equal(204);
  };

  /** Sends a call, erases the lead, and sends the call again. */
  const beforeAndAfter = async (
    operation: 'scoreRecords' | 'scoreWebhook',
    send: () => Promise<HttpReply>,
  ): Promise<{ readonly first: Answer; readonly again: Answer; readonly text: string }> => {
    const first = await send();
    for (const text of tellingTexts.slice(1)) expect(first.text).to.include(text);
    expect(first.text).to.include('old; this model');
    await erase();
    const again = await send();
    expect(again.headers.get('idempotent-replayed')).to.equal('true');
    contract.expectToMatch(operation, again);
    return { first: answerOf(first), again: answerOf(again), text: again.text };
  };

  const expectNothingOfLead = (text: string): void => {
    for (const telling of tellingTexts) expect(text).to.not.include(telling);
  };

  for (const bucket of ['live', 'test'] satisfies UsageBucket[]) {
    describe(`with a ${bucket} key`, () => {
      const webhook = (body: object, headers: Readonly<Record<string, string>> = {}) =>
        own.call(`/v1/webhooks/score?model_id=${own.model._id}&explain=true`, {
          body,
          key: own[bucket],
          headers,
        });

      it('replays only the score for an erased lead of a batch, and the other rows unchanged', async () => {
        const other = { crm_id: 'L-8', company_size: 31.25, last_activity: '2019-03-04' };
        const records = [{ ...fields, crm_id: crmId }, other, { ...fields, crm_id: crmId }];
        const headers = { 'idempotency-key': randomUUID() };
        const send = () => own.score(records, { explain: true, key: own[bucket], headers });
        const { first, again, text } = await beforeAndAfter('scoreRecords', send);
        expectNothingOfLead(text);
        const [one, two, three] = first.scores as Answer[];
        expect(JSON.stringify(two)).to.include('31.25').and.include('old; this model');
        const erased = (row: Answer = {}) => ({ ...bare(row), ...nothingToSay });
        expect(again).to.deep.equal({ ...first, scores: [erased(one), two, erased(three)] });
      });

      it('replays only the score of an erased lead from a webhook', async () => {
        const headers = { 'idempotency-key': randomUUID() };
        const send = () => webhook({ ...fields, crm_id: crmId }, headers);
        const { first, again, text } = await beforeAndAfter('scoreWebhook', send);
        expectNothingOfLead(text);
        expect(again).to.deep.equal({ ...bare(first), ...nothingToSay });
      });

      it('replays only the score of an erased lead from a HubSpot action, also in outputFields', async () => {
        const action = {
          callbackId: randomUUID(),
          origin: { portalId: 1 },
          object: { objectId: 77 },
          inputFields: { ...fields, crm_id: crmId },
        };
        const { first, again, text } = await beforeAndAfter('scoreWebhook', () => webhook(action));
        expectNothingOfLead(text);
        const output = first.outputFields as Answer;
        expect(output).to.include({ crm_id: crmId }).and.to.have.property('top_reason_1');
        const outputFields = bare(output);
        expect(again).to.deep.equal({ ...bare(first), ...nothingToSay, outputFields });
        expect(outputFields).to.include({ score: first.score, hs_execution_state: 'SUCCESS' });
      });

      it('replays no values of the report on the input', async () => {
        const headers = { 'idempotency-key': randomUUID() };
        const record = { ...fields, crm_id: crmId, lead_source: 'Tell-tale' };
        const body = { model_id: own.model._id, input_report: 'records', records: [record, { company_size: 1 }] };
        const send = () => own.call('/v1/score', { body, key: own[bucket], headers });
        const first = await send();
        expect(first.text).to.include('"examples":["Tell-tale"]');
        await erase();
        const again = await send();
        expect(again.text).to.not.include('Tell-tale');
        const [one, two] = answerOf(again).scores as Answer[];
        expect(one).to.not.have.property('input');
        expect(two).to.have.property('input');
        expect(answerOf(again)).to.not.have.property('input_summary');
      });

      it('replays no values of the report on the input of a webhook', async () => {
        const record = { ...fields, crm_id: crmId, lead_source: 'Tell-tale' };
        const action = { callbackId: randomUUID(), origin: { portalId: 1 }, object: { objectId: 78 } };
        const calls = [
          { body: record, headers: { 'idempotency-key': randomUUID() } },
          { body: { ...action, inputFields: record }, headers: {} },
        ];
        for (const { body, headers } of calls) {
          const path = `/v1/webhooks/score?model_id=${own.model._id}&input_report=records`;
          const send = () => own.call(path, { body, key: own[bucket], headers });
          const first = await send();
          expect(first.text).to.include('"examples":["Tell-tale"]').and.include('"value":"Tell-tale"');
          await erase();
          const again = await send();
          expect(again.headers.get('idempotent-replayed')).to.equal('true');
          expect(again.text).to.not.include('Tell-tale').and.not.include('"input"').and.not.include('"input_summary"');
          expect(answerOf(again).score).to.equal(answerOf(first).score);
        }
      });

      it('replays no reasons when the erased call had none', async () => {
        const headers = { 'idempotency-key': randomUUID() };
        const send = () => own.score([{ ...fields, crm_id: crmId }], { key: own[bucket], headers });
        const [row = {}] = answerOf(await send()).scores as Answer[];
        expect(row).to.have.property('warnings');
        await erase();
        expect(answerOf(await send()).scores).to.deep.equal([bare(row)]);
      });
    });
  }

  it('keeps the erased reply when its own call amends the usage later', async () => {
    const key = randomUUID();
    await own.score([{ ...fields, crm_id: crmId }], { explain: true, headers: { 'idempotency-key': key } });
    await erase();
    const { replies, idempotency } = service.stores;
    const [kept] = await replies.find({ _id: `${own.id}:live:${key}` }).toArray();
    await idempotency.amend(`${own.id}:live:${key}`, `{"scores":[{"crm_id":"${crmId}"}]}`, 5_000);
    expect(await replies.find({ _id: `${own.id}:live:${key}` }).toArray()).to.deep.equal([kept]);
  });

  it('removes all leads of a reply that are erased concurrently', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `together-${index}`);
    const headers = { 'idempotency-key': randomUUID() };
    const records = names.map((crm_id) => ({ crm_id, company_size: 50 }));
    const send = () => own.score(records, { explain: true, headers });
    await send();
    await Promise.all(names.map((name) => own.call(`/v1/scores/${name}`, { method: 'DELETE' })));
    const again = await send();
    expect(scored(again).scores).to.have.length(12);
    expect(again.text).to.not.include('together-').and.not.include('Company size');
  });
});
