import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Batcher } from '../../shared/async/batcher.js';
import { ApiError } from '../../shared/contract/errors.js';
import type { KnownFields, SentNames } from '../../shared/messages/field-slots.js';
import {
  type ChunkReply,
  type Lane,
  maxChunkRecords,
  maxProblemsNamed,
  nothingKnown,
  type OutgoingPart,
  type OutgoingPayload,
  type PartReply,
  type RefusedPart,
  type ScoredPart,
} from '../../shared/messages/score-job.js';
import type { AdmittedModel } from '../scoring/admission.js';
import { msUntil, type ScoringCall } from '../scoring/scoring-call.js';
import { FairQueue } from './fair-queue.js';
import { sentNamesOf } from './field-names.js';
import type { LaneQueues } from './lane-queues.js';
import type { ReplyStream } from './reply-stream.js';

/** The scores of a call, by column, in the order of its records. */
export interface ScoredRows {
  readonly parts: readonly ScoredPart[];
  /** One entry a record: its known fields by slot, as JSON, with stored fields filled in. */
  readonly fields: readonly string[];
}

export interface DispatcherOptions {
  readonly gatewayId: string;
  readonly queues: LaneQueues;
  readonly replies: ReplyStream;
}

const maxWaitingChunks = 1_000; // about 10 s of work on 2 cores

const maxSinglesPerChunk = 32; // a chunk of 32 records costs about as much as a chunk of one
/** A single that takes longer waits for a slow model or for a worker that died. It must not delay the next. */
const maxHoldMs = 100;

/** The organisation and the model of a chunk. */
interface ChunkTarget {
  readonly organisationId: string;
  readonly model: AdmittedModel;
}

/** A single record that waits for its chunk. */
interface Single {
  readonly target: ChunkTarget;
  readonly part: OutgoingPart;
  /** On the clock of `performance.now()`. */
  readonly endMs: number;
  readonly ended: Promise<void>;
}

interface OutgoingChunk {
  readonly target: ChunkTarget;
  readonly lane: Lane;
  readonly parts: readonly OutgoingPart[];
  readonly timeoutMs: number;
}

/**
 * Sends records to the workers and waits for their scores.
 *
 * 1. A batch is cut into chunks of at most 250 records, all sent at once.
 * 2. Singles of one model version share chunks, see Batcher.
 * 3. A gateway has a limited number of chunks in a lane. Organisations take turns, see FairQueue.
 * 4. A chunk without a reply at its deadline is cancelled, so that no worker starts it.
 */
export class Dispatcher {
  private readonly singles: Batcher<Single, PartReply>;
  private readonly queuesOf: Readonly<Record<Lane, FairQueue>>;

  constructor(private readonly options: DispatcherOptions) {
    const fairQueue = (lane: Lane) =>
      new FairQueue({ size: () => options.queues.windowSize(lane), maxWaiting: maxWaitingChunks });
    this.queuesOf = { singles: fairQueue('singles'), batches: fairQueue('batches') };
    this.singles = new Batcher({
      maxItems: maxSinglesPerChunk,
      gathers: true,
      endOf: ({ ended }) => ended,
      maxHoldMs,
      run: (singles, { target }) => this.sendSingles(singles, target),
    });
  }

  /**
   * Scores the records of a call.
   * @param ended resolves at the end of the call, whatever its outcome
   * @throws ApiError refusedRequest naming the records that cannot be featurized, or for too many field names;
   * internalError when no answer came in time
   */
  async score(call: ScoringCall, model: AdmittedModel, ended: Promise<void>): Promise<ScoredRows> {
    const target = { organisationId: call.apiKey.organisation_id, model };
    const parts: OutgoingPart[] = [];
    const inFlight: Promise<PartReply>[] = [];
    const { maxChunks = Number.POSITIVE_INFINITY } = call;
    const names = await sentNamesOf(call, model.knownFields);
    for (const part of packedParts(call, model, names)) {
      // Packing a part takes milliseconds. Other calls run in between.
      if (parts.length > 0) await nextTurn();
      parts.push(part);
      const reply = this.scorePart(part, target, { call, ended });
      reply.catch(() => undefined);
      inFlight.push(reply);
      if (inFlight.length >= maxChunks) await inFlight[inFlight.length - maxChunks];
    }
    const replies = await Promise.all(inFlight);
    const refused = replies.filter((reply): reply is RefusedPart => 'problems' in reply);
    if (refused.length > 0) throw refusal(refused, call, { knownFields: model.knownFields, names });
    const scored = replies.filter((reply): reply is ScoredPart => 'scores' in reply);
    return { parts: scored, fields: fieldsOf(parts, scored) };
  }

  /** Chunks that wait in this gateway for a place in a lane. */
  waiting(lane: Lane): number {
    return this.queuesOf[lane].depth;
  }

  private async scorePart(
    part: OutgoingPart,
    target: ChunkTarget,
    { call, ended }: { readonly call: ScoringCall; readonly ended: Promise<void> },
  ): Promise<PartReply> {
    const { lane } = call;
    const timeoutMs = msUntil(call.deadline);
    if (lane === 'singles') {
      const { id, version } = target.model;
      return await this.singles.add(`${id}:${version}`, { target, part, endMs: performance.now() + timeoutMs, ended });
    }
    const [reply] = await this.sendChunk({ target, lane, parts: [part], timeoutMs });
    if (reply === undefined) throw unanswered('a chunk came back without its part');
    return reply;
  }

  /** Sends singles as one chunk with the timeout of the last of them. Skips those that expire while they wait. */
  private async sendSingles(singles: readonly Single[], target: ChunkTarget): Promise<readonly (PartReply | Error)[]> {
    const endMs = Math.max(...singles.map((single) => single.endMs));
    const timeoutMs = Math.max(1, endMs - performance.now());
    return await this.queuesOf.singles.run(target.organisationId, timeoutMs, async () => {
      const nowMs = performance.now();
      const live = singles.filter((single) => single.endMs > nowMs);
      const parts = live.map(({ part }) => part);
      const leftMs = Math.max(1, Math.ceil(endMs - nowMs));
      const replies = await this.sendNow({ target, lane: 'singles', parts, timeoutMs: leftMs });
      const replyOf = new Map(live.map((single, index) => [single, replies[index]]));
      return singles.map((single) => replyOf.get(single) ?? unanswered('the record expired in the queue'));
    });
  }

  /** Sends one chunk at the organisation's turn, and waits for its reply. */
  private async sendChunk(sent: OutgoingChunk): Promise<readonly PartReply[]> {
    const endMs = performance.now() + sent.timeoutMs;
    return await this.queuesOf[sent.lane].run(sent.target.organisationId, sent.timeoutMs, () =>
      this.sendNow({ ...sent, timeoutMs: Math.max(1, Math.floor(endMs - performance.now())) }),
    );
  }

  /** Sends one chunk now. Rejects with an ApiError when no reply arrives in time. */
  private async sendNow({ target, lane, parts, timeoutMs }: OutgoingChunk): Promise<readonly PartReply[]> {
    const payload: OutgoingPayload = {
      chunk: randomUUID(),
      gateway: this.options.gatewayId,
      organisation: target.organisationId,
      model: target.model.id,
      version: target.model.version,
      parts,
    };
    const reply = this.options.replies.waitFor(payload.chunk, timeoutMs);
    try {
      await Promise.race([this.options.queues.add(lane, payload, timeoutMs), reply]);
      return partsOf(await reply);
    } catch (error) {
      this.options.replies.forget(payload.chunk);
      this.options.queues.cancel(lane, payload.chunk);
      throw error instanceof ApiError ? error : unanswered(error);
    }
  }
}

function partsOf({ failure, parts }: ChunkReply): readonly PartReply[] {
  if (failure === undefined) return parts;
  throw new ApiError('internalError', 'The records could not be scored.', {
    cause: failure,
    retryAfterSeconds: 1,
  });
}

const unanswered = (cause: unknown): ApiError =>
  new ApiError('internalError', 'The records could not be scored in time.', { cause, retryAfterSeconds: 1 });

/** Cuts a call into parts of at most 250 records. Each record keeps only the fields that the model knows. */
function* packedParts(call: ScoringCall, { knownFields }: AdmittedModel, names: SentNames): Generator<OutgoingPart> {
  for (let firstRow = 0; firstRow < call.records.length; firstRow += maxChunkRecords) {
    const records = call.records.slice(firstRow, firstRow + maxChunkRecords);
    yield {
      now: call.atMs,
      explain: call.explain,
      firstRow,
      // Live scores of a lead are not for test keys, whose own scores are not stored.
      crmIds: records.map(({ crmId }) => (call.bucket === 'live' ? crmId : null)),
      rows: records.map((record) => JSON.stringify(knownFields.pack(record.fields, names))),
    };
  }
}

/** The fields of each record: as sent, or with the stored fields that a worker filled in. */
function fieldsOf(sent: readonly OutgoingPart[], scored: readonly ScoredPart[]): string[] {
  return sent.flatMap(({ rows }, index) => {
    const filled = scored[index]?.filled ?? [];
    if (filled.length === 0) return rows;
    const fields = [...rows];
    for (const [row, text] of filled) fields[row] = text;
    return fields;
  });
}

/** Characters of a caller's field name in a message. */
const maxSentName = 100;
/** Field names of a record in a message. */
const maxSentNames = 5;

/**
 * The error for records that cannot be featurized. It names at most five problems, each with the caller's name of the
 * field where the model has another. For a record without any known field it lists the fields that were sent.
 */
export function refusal(
  parts: readonly RefusedPart[],
  { records, nameOfRecord, modelId }: Pick<ScoringCall, 'records' | 'nameOfRecord' | 'modelId'>,
  {
    knownFields,
    names,
  }: { readonly knownFields: Pick<KnownFields, 'keysOf' | 'slotNames'>; readonly names: SentNames },
): ApiError {
  const problems = parts.flatMap((part) => part.problems).slice(0, maxProblemsNamed);
  const count = parts.reduce((sum, part) => sum + part.problemCount, 0);
  const more = count > problems.length ? `; and ${count - problems.length} more` : '';
  const fieldsOf = (record: number) => records[record]?.fields ?? {};
  // One pass over each record: it may have ten thousand fields, and several problems.
  const places = new Set(problems.map(({ record }) => record));
  const keysOf = new Map([...places].map((record) => [record, knownFields.keysOf(fieldsOf(record), names)]));
  const described = problems.map(({ record, field, expected, came }) => {
    const key = keysOf.get(record)?.find((each, slot) => each !== undefined && knownFields.slotNames[slot] === field);
    const isUnknown = expected === nothingKnown.expected;
    const sentAs = isUnknown ? namesIn(fieldsOf(record)) : key === field ? '' : asSent(key);
    return `${placeOf(nameOfRecord(record), field)}: expected ${expected}, came ${came}${sentAs}`;
  });
  const isAnyUnknown = problems.some(({ expected }) => expected === nothingKnown.expected);
  const known = isAnyUnknown ? ` GET /v1/models/${modelId} lists the model's fields.` : '';
  return new ApiError('refusedRequest', `${described.join('; ')}${more}.${known} Nothing of the call was counted.`);
}

/** `records[17].annual_revenue`, or `records[17]["Annual Revenue"]` for a name that is no identifier. */
function placeOf(record: string, field: string): string {
  if (field === '') return record;
  return /^[A-Za-z_$][\w$]*$/.test(field) ? `${record}.${field}` : `${record}[${JSON.stringify(field)}]`;
}

const asSent = (name: string | undefined): string => (name === undefined ? '' : ` (sent as ${shownName(name)})`);

/** The names of a record, marked where a value is a list or an object. An unknown form of a tool nests its fields. */
function namesIn(fields: Readonly<Record<string, unknown>>): string {
  const named = Object.entries(fields)
    .slice(0, maxSentNames)
    .map(([name, value]) => {
      const kind = Array.isArray(value) ? ', a list' : typeof value === 'object' && value ? ', an object' : '';
      return `${shownName(name)}${kind}`;
    });
  if (named.length === 0) return ' (it is empty)';
  return ` (it has ${named.join('; ')}${Object.keys(fields).length > maxSentNames ? '; and others' : ''})`;
}

const shownName = (name: string): string =>
  JSON.stringify(name.length > maxSentName ? `${name.slice(0, maxSentName - 1)}…` : name);
