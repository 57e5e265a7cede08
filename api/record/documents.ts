import { ApiError } from '../../shared/contract/errors.js';
import type { UsageReport } from '../../shared/contract/plans.js';
import {
  type CallDocument,
  callDocuments,
  documentBytes,
  maxDocumentBytes,
} from '../../shared/store/calls/call-documents.js';
import { type IdempotentReply, idempotencyId, idempotencyMs } from '../../shared/store/calls/idempotency.js';
import { type PredictionSegment, rowOf, segmentsOf } from '../../shared/store/calls/prediction-segment.js';
import type { WriteOptions } from '../../shared/store/connection/connect.js';
import type { CallReservation } from '../admission/metering.js';
import type { ScoredRows } from '../call/score-outcome.js';
import { type AdmittedModel, type Deadline, msUntil, type ScoringCall } from '../call/scoring-call.js';

/** A scored call before it is recorded. */
export interface ScoredCall {
  readonly call: ScoringCall;
  readonly model: AdmittedModel;
  readonly rows: ScoredRows;
  readonly reservation: Pick<CallReservation, 'counter' | 'usageIfSettled'>;
  /** Writes the reply with this usage. */
  readonly writeWith: (usage: UsageReport) => string;
  /** Further writes of the transaction that records the call. */
  readonly beside?: (options: WriteOptions) => Promise<void>;
}

/** The documents of one call, and the size that they add to a commit. */
export interface CallEntry {
  readonly deadline: Pick<Deadline, 'monotonicMs'>;
  readonly records: number;
  readonly bytes: number;
  readonly documents: readonly CallDocument[];
  readonly reply: IdempotentReply | undefined;
  readonly beside: ScoredCall['beside'];
}

/** The documents of several calls of one commit. */
export const documentsOf = (entries: readonly CallEntry[]): CallDocument[] =>
  entries.flatMap(({ documents }) => documents);

/** The timeout of a commit that begins now: the time left to its last call. */
export const maxTimeoutMs = (entries: readonly CallEntry[]): number =>
  Math.max(...entries.map(({ deadline }) => msUntil(deadline)));

/** The entry of a scored call: its documents and, under an Idempotency-Key, its reply. */
export function entryOf({ call, model, rows, reservation, writeWith, beside }: ScoredCall): CallEntry {
  const at = new Date(call.atMs);
  const row = {
    _id: call.id,
    request_id: call.requestId,
    org: call.apiKey.organisation_id,
    key: call.apiKey._id,
    bucket: call.bucket,
    month: reservation.counter.month,
    records: call.records.length,
    model: model.id,
    version: model.version,
    at,
  };
  const slices = call.bucket === 'live' ? predictionsOf(call, { model, rows, at }) : [];
  const { source } = call;
  const documents = callDocuments(source === undefined ? row : { ...row, source }, slices);
  const bytes = bytesOfDocuments(documents, call.nameOfRecord);
  const reply = replyOf(call, () => writeWith(reservation.usageIfSettled));
  return {
    deadline: call.deadline,
    records: call.records.length,
    // Characters stand for bytes: most of a reply is ASCII.
    bytes: bytes + (reply?.reply.length ?? 0),
    documents,
    reply,
    beside,
  };
}

function predictionsOf(
  call: ScoringCall,
  { model, rows, at }: { readonly model: AdmittedModel; readonly rows: ScoredRows; readonly at: Date },
): PredictionSegment[] {
  return segmentsOf({
    callId: call.id,
    org: call.apiKey.organisation_id,
    model: model.id,
    version: model.version,
    at,
    arrivedAt: new Date(call.deadline.arrivedRedisMs),
    crmIds: call.records.map(({ crmId }) => crmId),
    scores: rows.parts.flatMap(({ scores }) => scores),
    likelihoods: rows.parts.flatMap(({ likelihoods }) => likelihoods),
    fields: rows.fields,
    source: call.source,
  });
}

function replyOf(call: ScoringCall, write: () => string): IdempotentReply | undefined {
  if (call.idempotency === undefined) return undefined;
  const reply = write();
  const bytes = Buffer.byteLength(reply);
  if (bytes > maxDocumentBytes) throw replyTooLarge(bytes, call.idempotency.name);
  return {
    _id: idempotencyId(call.apiKey.organisation_id, call.bucket, call.idempotency.key),
    body_hash: call.idempotency.bodyHash,
    call_id: call.id,
    reply,
    expires_at: new Date(call.atMs + idempotencyMs),
  };
}

/**
 * The sum of the sizes of a call's documents, in bytes.
 * @throws ApiError refusedRequest when one is larger than MongoDB's limit
 */
function bytesOfDocuments(documents: readonly CallDocument[], nameOf: (record: number) => string): number {
  let together = 0;
  for (const document of documents) {
    const bytes = documentBytes(document);
    if (bytes > maxDocumentBytes) throw tooLarge(document, { bytes, nameOf });
    together += bytes;
  }
  return together;
}

function tooLarge(
  { _id, fields = [] }: CallDocument,
  { bytes, nameOf }: { readonly bytes: number; readonly nameOf: (record: number) => string },
): ApiError {
  const first = rowOf(_id);
  const last = first + fields.length - 1;
  const records = last > first ? `${nameOf(first)} to ${nameOf(last)}` : nameOf(first);
  return new ApiError(
    'refusedRequest',
    `${records}: the fields that the model knows have ${mebibytes(bytes)} MiB with the stored fields filled in; ` +
      `a hundred records may have ${mebibytes(maxDocumentBytes)} MiB. ` +
      'Send shorter fields. Nothing of the call was counted.',
  );
}

const replyTooLarge = (bytes: number, keyName: string): ApiError =>
  new ApiError(
    'refusedRequest',
    `The reply has ${mebibytes(bytes)} MiB; under an ${keyName} it is stored, and may have ` +
      `${mebibytes(maxDocumentBytes)} MiB. Send fewer records, or send them without explain and input_report. ` +
      'Nothing of the call was counted.',
  );

const mebibytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(2);
