import type { Middleware } from 'koa';
import { readCrmId } from '../../shared/contract/crm-id.js';
import { ApiError } from '../../shared/contract/errors.js';
import type { Authenticator } from '../auth/authenticate.js';
import { sendReply } from '../call/score-reply.js';
import { answerInTime, type CallRecord, idOfRecord, type ScoringCall } from '../call/scoring-call.js';
import { requireJson } from '../request/content-type.js';
import { type LargeBodies, laneOf } from '../request/large-bodies.js';
import { maxValues, parseJsonBody, type ValueLimit } from '../request/parse-json.js';
import { type ReceivedCall, type ReceivingDeps, receiveCall } from '../request/receive-call.js';
import { type ScoreRequest, scoreRequestSchema } from '../schemas/score-request.js';
import { compileCheck } from '../schemas/validator.js';
import { type ScoringDeps, scoreRecords, type WriteReply } from '../score-records.js';

export interface ScoreRouteDeps {
  readonly keys: Authenticator;
  readonly receiving: ReceivingDeps;
  readonly largeBodies: LargeBodies;
  readonly scoring: ScoringDeps;
  readonly requestTimeoutMs: number;
  readonly webhookTimeoutMs: number;
}

const maxRecords = scoreRequestSchema.properties.records.maxItems;
const valueLimit: ValueLimit = {
  max: maxValues.ofBatch,
  advice: 'send fewer records in each call, or fewer fields of each',
  refuse: ({ records }) => checkRecordCount(records),
};

/** `POST /v1/score`: scores up to 1000 records with one model. */
export function scoreRoute(deps: ScoreRouteDeps, writeReply: WriteReply): Middleware {
  const check = compileCheck<ScoreRequest>(scoreRequestSchema);
  return async (context) => {
    const received = await receiveCall(context, deps.receiving, {
      authenticate: () => deps.keys.authenticate(context.req),
      timeoutMs: deps.requestTimeoutMs,
      route: String(context._matchedRoute),
    });
    requireJson(context);
    await deps.largeBodies.inTurn(received, async (turn) => {
      const request = check(await parseJsonBody(received.body, valueLimit, turn));
      await turn.yieldToEventLoop();
      const call = { ...callOf(received, request, String(context.state.requestId)), ...turn };
      context.state.scored = { modelId: call.modelId, records: call.records.length };
      await sendReply(context, await answerInTime(call, () => scoreRecords(call, writeReply, deps.scoring)), turn);
    });
  };
}

function callOf(received: ReceivedCall, request: ScoreRequest, requestId: string): ScoringCall {
  const { length } = request.records;
  if (length === 0) throw new ApiError('refusedRequest', `There are no records: send between 1 and ${maxRecords}.`);
  checkRecordCount(length);
  const { callId, apiKey, atMs, deadline, idempotency, hasHungUp } = received;
  return {
    id: callId,
    requestId,
    apiKey,
    bucket: apiKey.kind,
    modelId: request.model_id,
    records: request.records.map(recordOf),
    nameOfRecord: (index) => `records[${index}]`,
    explain: request.explain ?? false,
    ...(request.input_report !== undefined && { inputReport: request.input_report }),
    lane: laneOf(length, received.body),
    idempotency,
    atMs,
    deadline,
    hasHungUp,
  };
}

function checkRecordCount(count: number): void {
  if (count <= maxRecords) return;
  throw new ApiError(
    'recordLimitExceeded',
    `The call has ${count} records; at most ${maxRecords} are scored in one call.`,
  );
}

/** The schema accepts only strings as crm_id. An empty one counts as absent. */
function recordOf(fields: Readonly<Record<string, unknown>>): CallRecord {
  const sent = Object.hasOwn(fields, 'crm_id') ? fields.crm_id : undefined;
  if (typeof sent !== 'string' || sent === '') return { fields, crmId: null };
  const read = readCrmId(sent);
  return 'id' in read ? { fields, ...idOfRecord(read.id) } : { fields, crmId: null, echo: sent };
}
