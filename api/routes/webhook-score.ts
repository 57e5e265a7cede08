import type { LikelihoodName } from '../call/score-reply.js';
import { answerInTime, type Idempotency, type ScoringCall } from '../call/scoring-call.js';
import type { AnswerCall } from '../large-calls/arrived-call.js';
import { laneOf } from '../request/large-bodies.js';
import { bodyHashOf, type ReceivedCall } from '../request/receive-call.js';
import { type ScoringDeps, scoreRecords } from '../score-records.js';
import { parseWebhookBody } from '../webhook/body.js';
import { webhookReplyWriter } from '../webhook/reply.js';
import { readWebhook, type WebhookRequest } from '../webhook/request.js';
import { queryParameter } from './reading.js';

/** Answers `POST /v1/webhooks/score`: one record, in the format of a CRM or automation tool. */
export function webhookAnswer(deps: ScoringDeps, route: string, likelihoodName: LikelihoodName): AnswerCall {
  return async ({ received, requestId, querystring, form }) => {
    const body = await parseWebhookBody(received.body, form);
    const request = readWebhook(body, (name) => queryParameter({ querystring }, name), namesIn(querystring));
    // Settings in the query are part of the call.
    const names = { requestId, route: `${route}?${querystring}` };
    const call = callOf(received, request, names);
    const writeReply = webhookReplyWriter({
      likelihoodName,
      forHubSpotAction: request.hubSpotCallbackId !== undefined,
    });
    const reply = await answerInTime(call, () => scoreRecords(call, writeReply, deps));
    return { reply, scored: { modelId: call.modelId, records: call.records.length } };
  };
}

const namesIn = (querystring: string): string[] => [...new URLSearchParams(querystring).keys()];

function callOf(
  received: ReceivedCall,
  request: WebhookRequest,
  { requestId, route }: { readonly requestId: string; readonly route: string },
): ScoringCall {
  const { callId, apiKey, atMs, deadline, hasHungUp } = received;
  return {
    id: callId,
    requestId,
    apiKey,
    bucket: apiKey.kind,
    modelId: request.modelId,
    records: [{ crmId: request.crmId, sentId: request.sentId, echo: request.echo, fields: request.record }],
    nameOfRecord: () => 'record',
    explain: request.explain,
    ...(request.inputReport !== undefined && { inputReport: request.inputReport }),
    notices: [...received.notices, ...request.notices],
    lane: laneOf(1, received.body),
    idempotency: received.idempotency ?? repeatedCallback(received, request, route),
    atMs,
    deadline,
    hasHungUp,
  };
}

/** HubSpot retries the call of a custom action under the same callbackId until it gets a reply. */
function repeatedCallback(
  received: ReceivedCall,
  { hubSpotCallbackId }: WebhookRequest,
  route: string,
): Idempotency | undefined {
  if (hubSpotCallbackId === undefined || hubSpotCallbackId === '') return undefined;
  const bodyHash = bodyHashOf(route, received.body);
  // No header holds a line break, so no Idempotency-Key is the same.
  return { key: `callbackId\n${hubSpotCallbackId}`, name: 'callbackId', bodyHash };
}
