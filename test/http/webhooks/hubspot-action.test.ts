import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { HttpReply } from '../../support/http/http-call.js';
import { refused } from '../../support/http/score-reply.js';
import { scoredWebhook } from '../../support/http/webhook-answer.js';
import { type CallOptions, onOwnWorkspace, type TestWorkspace } from '../../support/service/workspace.js';

const path = '/v1/webhooks/score';
const lead = { company_size: 120, lead_source: 'Referral' };

describe('HubSpot custom actions to POST /v1/webhooks/score', () => {
  let own: TestWorkspace;

  onOwnWorkspace((fresh) => {
    own = fresh;
  });

  const send = (body: object, options: CallOptions = {}): Promise<HttpReply> =>
    own.call(path, { ...options, body: { model_id: own.model._id, ...body } });
  const action = (callbackId: string, inputFields: object = lead) => ({
    callbackId,
    origin: { portalId: 1 },
    object: { objectId: 77 },
    inputFields,
  });

  it('repeats every flat member in outputFields of a HubSpot custom action', async () => {
    await send({ ...lead, crm_id: '77' });
    const answer = scoredWebhook(await send(action(randomUUID())));
    const { outputFields, usage, validation, ...flat } = answer;
    expect(outputFields).to.deep.equal({ ...flat, hs_execution_state: 'SUCCESS' });
    expect(flat).to.include({ crm_id: '77', delta: 0, usage_remaining: '9998' });
  });

  it('replays the reply for the same callbackId, and counts the call once', async () => {
    const body = action(randomUUID());
    const first = await send(body);
    const again = await send(body);
    expect(again.headers.get('idempotent-replayed')).to.equal('true');
    expect(again.text).to.equal(first.text);
    scoredWebhook(await send(action(randomUUID())));
    expect(await own.ledgerSum()).to.equal(2);
  });

  it('returns one reply to concurrent calls under one callbackId', async () => {
    const body = action(randomUUID());
    const replies = await Promise.all(Array.from({ length: 8 }, () => send(body)));
    expect(new Set(replies.map((reply) => scoredWebhook(reply) && reply.text))).to.have.property('size', 1);
    expect(replies.filter((reply) => reply.headers.has('idempotent-replayed'))).to.have.length(7);
    expect(await own.ledgerSum()).to.equal(1);
  });

  it('returns 422 when a callbackId is repeated with another model or explain in the query', async () => {
    const [callbackId, other] = [randomUUID(), await own.addModel()];
    const to = (query: string) => own.call(`${path}?${query}`, { body: action(callbackId) });
    scoredWebhook(await to(`model_id=${own.model._id}`));
    refused(await to(`model_id=${other._id}`), '422 bad_request');
    refused(await to(`model_id=${own.model._id}&explain=1`), '422 bad_request');
  });

  it('returns 422 when a callbackId is repeated with another body', async () => {
    const callbackId = randomUUID();
    scoredWebhook(await send(action(callbackId)));
    const { error } = refused(await send(action(callbackId, { company_size: 5 })), '422 bad_request');
    expect(error.message).to.match(/^This callbackId was used for a call with another body/);
    expect(await own.ledgerSum()).to.equal(1);
  });

  it('replays by Idempotency-Key instead of callbackId when both are sent', async () => {
    const body = action(randomUUID());
    const keyed = (key: string) => send(body, { headers: { 'idempotency-key': key } });
    const replies = [await keyed('a'), await keyed('b'), await keyed('a')];
    expect(replies.map((reply) => reply.headers.has('idempotent-replayed'))).to.deep.equal([false, false, true]);
    expect(await own.ledgerSum()).to.equal(2);
  });

  it('scores a callbackId that another call sent as its Idempotency-Key', async () => {
    const callbackId = randomUUID();
    for (const key of [callbackId, `callback:${callbackId}`, `callbackId ${callbackId}`])
      scoredWebhook(await send(lead, { headers: { 'idempotency-key': key } }));
    const reply = await send(action(callbackId));
    scoredWebhook(reply);
    expect(reply.headers.has('idempotent-replayed')).to.equal(false);
    expect(await own.ledgerSum()).to.equal(4);
  });

  it('scores a callbackId again after a failed call', async () => {
    const callbackId = randomUUID();
    refused(await send(action(callbackId, { company_size: {} })), '400 bad_request');
    scoredWebhook(await send(action(callbackId)));
  });
});
