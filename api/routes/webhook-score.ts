import type { Context, Middleware } from 'koa';
import { authenticateWebhook } from '../auth/authenticate.js';
import { type LikelihoodName, sendReply } from '../call/score-reply.js';
import { answerInTime, type Idempotency, type ScoringCall } from '../call/scoring-call.js';
import type { Reply } from '../idempotency/idempotency.js';
import { laneOf } from '../request/large-bodies.js';
import type { Yielding } from '../request/read-body.js';
import { bodyHashOf, type ReceivedCall, receiveCall } from '../request/receive-call.js';
import { scoreRecords } from '../score-records.js';
import { parseWebhookBody } from '../webhook/body.js';
import { webhookReplyWriter } from '../webhook/reply.js';
import { readWebhook, type WebhookRequest } from '../webhook/request.js';
import { queryParameter } from './reading.js';
import type { ScoreRouteDeps } from './score.js';

/** `POST /v1/webhooks/score`: one record, in the format of a CRM or automation tool. */
export function webhookScoreRoute(deps: ScoreRouteDeps, likelihoodName: LikelihoodName): Middleware {
  return async (context) => {
    const received = await receiveCall(context, deps.receiving, {
      authenticate: () => authenticateWebhook(context.req, deps.keys),
      timeoutMs: deps.webhookTimeoutMs,
      route: routeOf(context),
    });
    await deps.largeBodies.inTurn(received, async (turn) => {
      await sendReply(context, await answer(context, received, turn), turn);
    });
  };

  async function answer(context: Context, received: ReceivedCall, turn: Yielding): Promise<Reply> {
    const request = readWebhook(await parseWebhookBody(context, received.body, turn), (name) =>
      queryParameter(context, name),
    );
    await turn.yieldToEventLoop();
    const names = { requestId: String(context.state.requestId), route: routeOf(context) };
    const call = { ...callOf(received, request, names), ...turn };
    const writeReply = webhookReplyWriter({
      likelihoodName,
      forHubSpotAction: request.hubSpotCallbackId !== undefined,
    });
    context.state.scored = { modelId: call.modelId, records: call.records.length };
    return await answerInTime(call, () => scoreRecords(call, writeReply, deps.scoring));
  }
}

/** The route of a call, with its query: settings in the query are part of the call. */
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
    records: [{ crmId: request.crmId, sentId: request.sentId, echo: request.echo, fields: request.record }],
    nameOfRecord: () => 'record',
    explain: request.explain,
    ...(request.inputReport !== undefined && { inputReport: request.inputReport }),
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
