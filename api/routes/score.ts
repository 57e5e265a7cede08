import type { Middleware } from 'koa';
import { ApiError } from '../../shared/errors.js';
import { answerInTime } from '../answer-in-time.js';
import { boundValues, mostValues } from '../body-values.js';
import type { HeavyCalls } from '../heavy-calls.js';
import type { KeyStore } from '../key-store.js';
import { parseJson } from '../parse-json.js';
import { bodyText } from '../read-body.js';
import { type ReceivedCall, type ReceivingRooms, receiveCall } from '../receive-call.js';
import { requireJson } from '../require-json.js';
import { type ScoreRequest, scoreRequestSchema } from '../schemas/score-request.js';
import { compileCheck } from '../schemas/validator.js';
import { type ScoringRooms, scoreRecords, type WriteReply } from '../score-records.js';
import type { CallRecord, ScoringCall } from '../scoring-call.js';
import { sendReply } from '../send-reply.js';

export interface ScoreRouteRooms {
  readonly keys: KeyStore;
  readonly receiving: ReceivingRooms;
  readonly heavyCalls: HeavyCalls;
  readonly scoring: ScoringRooms;
  readonly requestTimeoutMs: number;
  readonly webhookTimeoutMs: number;
}

/** Records of one batch call at most. */
const mostRecords = scoreRequestSchema.properties.records.maxItems;

/** `POST /v1/score`: up to 1000 records of one model. */
export function scoreRoute(rooms: ScoreRouteRooms, writeReply: WriteReply): Middleware {
  const check = compileCheck<ScoreRequest>(scoreRequestSchema);
  return async (context) => {
    const received = await receiveCall(context, rooms.receiving, {
      authenticate: () => rooms.keys.authenticate(context.req),
      timeoutMs: rooms.requestTimeoutMs,
      route: String(context._matchedRoute),
    });
    requireJson(context);
    const reply = await rooms.heavyCalls.inTurn(received, async ({ breathe, chunksAtOnce }) => {
      const text = bodyText(received.body);
      boundValues(received.body, {
        most: mostValues.ofBatch,
        advice: 'send fewer records in each call, or fewer fields of each',
        refuse: ({ longestList }) => checkRecordCount(longestList),
      });
      const parsed = parseJson(text);
      await breathe();
      const request = check(parsed);
      await breathe();
      const call = { ...callOf(received, request, String(context.state.requestId)), chunksAtOnce };
      return await answerInTime(call, () => scoreRecords(call, writeReply, rooms.scoring));
    });
    sendReply(context, reply);
  };
}

function callOf(received: ReceivedCall, request: ScoreRequest, requestId: string): ScoringCall {
  const { length } = request.records;
  if (length === 0)
    throw new ApiError('refusedRequest', `There are no records: send between 1 and ${mostRecords}.`);
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
    lane: length === 1 ? 'singles' : 'batches',
    idempotency,
    atMs,
    deadline,
    hasHungUp,
  };
}

function checkRecordCount(count: number): void {
  if (count <= mostRecords) return;
  throw new ApiError(
    'recordLimitExceeded',
    `The call has ${count} records; at most ${mostRecords} are scored in one call.`,
  );
}

/** The schema has made sure that a crm_id is a string; an empty one counts as not sent. */
function recordOf(fields: Readonly<Record<string, unknown>>): CallRecord {
  const crmId = Object.hasOwn(fields, 'crm_id') ? fields.crm_id : undefined;
  return { fields, crmId: typeof crmId === 'string' && crmId !== '' ? crmId : null };
}
