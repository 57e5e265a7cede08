import type { Context, Middleware } from 'koa';
import { authenticateWebhook } from '../auth/authenticate.js';
import type { Reply } from '../idempotency/idempotency.js';
import type { CallTurn } from '../request/large-bodies.js';
import { bodyHashOf, type ReceivedCall, receiveCall } from '../request/receive-call.js';
import { scoreRecords } from '../score-records.js';
import { type LikelihoodName, sendReply } from '../scoring/score-reply.js';
import { answerInTime, type Idempotency, type ScoringCall } from '../scoring/scoring-call.js';
import { parseWebhookBody } from '../webhook/body.js';
import { webhookReplyWriter } from '../webhook/reply.js';
import { readWebhook, type WebhookRequest } from '../webhook/request.js';
import type { ScoreRouteDeps } from './score.js';

/** `POST /v1/webhooks/score`: one record, in the format of a CRM or automation tool. */
export function webhookScoreRoute(deps: ScoreRouteDeps, likelihoodName: LikelihoodName): Middleware {
  return async (context) => {
    const received = await receiveCall(context, deps.receiving, {
      authenticate: () => authenticateWebhook(context.req, deps.keys),
      timeoutMs: deps.webhookTimeoutMs,
      route: routeOf(context),
    });
    const reply = await deps.largeBodies.inTurn(received, (turn) => answer(context, received, turn));
    sendReply(context, reply);
  };

  async function answer(context: Context, received: ReceivedCall, { yieldToEventLoop }: CallTurn): Promise<Reply> {
    const parsed = parseWebhookBody(context, received.body);
    await yieldToEventLoop();
    const request = readWebhook(parsed, context.query);
    await yieldToEventLoop();
    const call = callOf(received, request, {
      requestId: String(context.state.requestId),
      route: routeOf(context),
    });
    const writeReply = webhookReplyWriter({
      likelihoodName,
      forHubSpotAction: request.hubSpotCallbackId !== undefined,
    });
    return await answerInTime(call, () => scoreRecords(call, writeReply, deps.scoring));
  }
}

/** The route of a call, with its query: `model_id` and `explain` in the query are part of the call. */
const routeOf = (context: Context): string => `${context._matchedRoute}?${context.querystring}`;

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
    records: [{ crmId: request.crmId, fields: request.record }],
    nameOfRecord: () => 'record',
    explain: request.explain,
    lane: 'singles',
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
  return { key: `callback:${hubSpotCallbackId}`, name: 'callbackId', bodyHash };
}
