import { readCrmId } from '../../shared/contract/crm-id.js';
import { ApiError } from '../../shared/contract/errors.js';
import { EnvelopeMembers } from '../call/notices.js';
import type { WriteReply } from '../call/score-outcome.js';
import { answerInTime, type CallRecord, idOfRecord, type ScoringCall } from '../call/scoring-call.js';
import type { AnswerCall } from '../large-calls/arrived-call.js';
import { laneOf } from '../request/large-bodies.js';
import { maxValues, parseJsonBody, type ValueLimit } from '../request/parse-json.js';
import type { ReceivedCall } from '../request/receive-call.js';
import { type ScoreRequest, scoreRequestSchema } from '../schemas/scoring/score-request.js';
import { compileCheck } from '../schemas/validator.js';
import { type ScoringDeps, scoreRecords } from '../score-records.js';

const maxRecords = scoreRequestSchema.properties.records.maxItems;
/** The thread for large calls parses these. A mebibyte of `[],` in a row takes it 20 ms. */
const parsedCharacters = 1024 * 1024;
const valueLimit: ValueLimit = {
  max: maxValues.ofBatch,
  advice: 'send fewer records in each call, or fewer fields of each',
  parsedCharacters,
  refuse: ({ records }) => checkRecordCount(records),
};

const members = new EnvelopeMembers(Object.keys(scoreRequestSchema.properties));

/** Answers `POST /v1/score`: scores up to 1000 records with one model. */
export function batchAnswer(deps: ScoringDeps, writeReply: WriteReply): AnswerCall {
  const check = compileCheck(scoreRequestSchema);
  return async ({ received, requestId }) => {
    const request = check(await parseJsonBody(received.body, valueLimit));
    const call = callOf(received, request, requestId);
    const reply = await answerInTime(call, () => scoreRecords(call, writeReply, deps));
    return { reply, scored: { modelId: call.modelId, records: call.records.length } };
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
    notices: [
      ...received.notices,
      ...members.notices(Object.keys(request), (member) => Object.hasOwn(request, member)),
    ],
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

/** The schema accepts texts and safe whole numbers as crm_id. An empty text counts as absent. */
function recordOf(fields: Readonly<Record<string, unknown>>): CallRecord {
  const sent = Object.hasOwn(fields, 'crm_id') ? fields.crm_id : undefined;
  if (typeof sent === 'number') return { fields, crmId: String(sent) };
  if (typeof sent !== 'string' || sent === '') return { fields, crmId: null };
  const read = readCrmId(sent);
  return 'id' in read ? { fields, ...idOfRecord(read.id) } : { fields, crmId: null, echo: sent };
}
