import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ApiError } from '../../shared/contract/errors.js';
import {
  type ChunkReply,
  type ExplainMethod,
  type Lane,
  maxChunkRecords,
  type OutgoingPart,
  type OutgoingPayload,
  type PartReply,
  type RefusedPart,
  type ScoredPart,
} from '../../shared/messages/score-job.js';
import type { AdmittedModel } from '../scoring/admission.js';
import { msUntil, type ScoringCall } from '../scoring/scoring-call.js';
import { FairQueue } from './fair-queue.js';
import type { LaneQueues } from './lane-queues.js';
import { type ChunkTarget, MicroBatcher } from './micro-batcher.js';
import { refusal } from './refusal.js';
import type { ReplyStream } from './reply-stream.js';

/** What the workers say of a call, column by column in the order of its records, with what each was scored from. */
export interface ScoredRows {
  readonly parts: readonly ScoredPart[];
  /** One a record: its known fields, by slot, as JSON. */
  readonly fields: readonly string[];
}

export interface DispatcherOptions {
  readonly gatewayId: string;
  readonly queues: LaneQueues;
  readonly replies: ReplyStream;
}

/** Some ten seconds of work for two cores: what comes beyond it could not be answered in time. */
const maxWaitingChunks = 1_000;

interface OutgoingChunk {
  readonly target: ChunkTarget;
  readonly lane: Lane;
  readonly parts: readonly OutgoingPart[];
  readonly timeoutMs: number;
}

/**
 * Sends records to the workers and waits for their scores.
 * 1. A batch is cut into chunks of at most 250 records, all sent at once.
 * 2. Single records for the same model are gathered into one chunk until as many wait as are under way.
 * 3. A gateway has only so many chunks in a lane at once, shared fairly between organisations.
 * 4. At the deadline what was sent is dropped, so that no worker starts what nobody waits for.
 */
export class Dispatcher {
  private readonly singles: MicroBatcher;
  private readonly windows: Readonly<Record<Lane, FairQueue>>;

  constructor(private readonly options: DispatcherOptions) {
    const windowOf = (lane: Lane) =>
      new FairQueue({ size: () => options.queues.windowSize(lane), maxWaiting: maxWaitingChunks });
    this.windows = { singles: windowOf('singles'), batches: windowOf('batches') };
    this.singles = new MicroBatcher({
      inTurn: ({ organisationId }, timeoutMs, send) =>
        this.windows.singles.run(organisationId, timeoutMs, send),
      send: (target, parts, timeoutMs) => this.sendNow({ target, lane: 'singles', parts, timeoutMs }),
    });
  }

  /**
   * Scores the records of a call.
   * @param ended resolves when nothing more is to be done for the call, however it ends
   * @throws ApiError refusedRequest naming the records that cannot be featurized; internalError when no answer came in time
   */
  async score(call: ScoringCall, model: AdmittedModel, ended: Promise<void>): Promise<ScoredRows> {
    const target = { organisationId: call.apiKey.organisation_id, model };
    const parts: OutgoingPart[] = [];
    const underWay: Promise<PartReply>[] = [];
    const { chunksAtOnce = Number.POSITIVE_INFINITY } = call;
    for (const part of packedParts(call, model)) {
      // Packing takes milliseconds; other calls have their turn in between.
      if (parts.length > 0) await nextTurn();
      parts.push(part);
      const reply = this.scorePart(part, target, { call, ended });
      reply.catch(() => undefined);
      underWay.push(reply);
      if (underWay.length >= chunksAtOnce) await underWay[underWay.length - chunksAtOnce];
    }
    const replies = await Promise.all(underWay);
    const refused = replies.filter((reply): reply is RefusedPart => 'problems' in reply);
    if (refused.length > 0) throw refusal(refused, call, model.knownFields);
    const scored = replies.filter((reply): reply is ScoredPart => 'scores' in reply);
    return { parts: scored, fields: fieldsOf(parts, scored) };
  }

  /** Chunks that wait here for a place in a lane. */
  waiting(lane: Lane): number {
    return this.windows[lane].depth;
  }

  /**
   * How a model is explained, from a worker that has loaded it.
   * @throws ApiError internalError when none says so in time
   */
  async explainMethod(target: ChunkTarget, timeoutMs: number): Promise<ExplainMethod> {
    const noRecords = { now: 0, explain: true, firstRow: 0, crmIds: [], rows: [] };
    const [reply] = await this.sendChunk({ target, lane: 'singles', parts: [noRecords], timeoutMs });
    const explained = reply !== undefined && 'scores' in reply ? reply.explained : undefined;
    if (explained === undefined) throw unanswered('a chunk came back without an explanation');
    return explained.method;
  }

  private async scorePart(
    part: OutgoingPart,
    target: ChunkTarget,
    { call, ended }: { readonly call: ScoringCall; readonly ended: Promise<void> },
  ): Promise<PartReply> {
    const { lane } = call;
    const timeoutMs = msUntil(call.deadline);
    if (lane === 'singles') return await this.singles.score(target, part, { timeoutMs, ended });
    const [reply] = await this.sendChunk({ target, lane, parts: [part], timeoutMs });
    if (reply === undefined) throw unanswered('a chunk came back without its part');
    return reply;
  }

  /** Queues one chunk when its turn has come, and waits for its reply. */
  private async sendChunk(sent: OutgoingChunk): Promise<readonly PartReply[]> {
    const endMs = performance.now() + sent.timeoutMs;
    return await this.windows[sent.lane].run(sent.target.organisationId, sent.timeoutMs, () =>
      this.sendNow({ ...sent, timeoutMs: Math.max(1, Math.floor(endMs - performance.now())) }),
    );
  }

  /** Rejects with an ApiError when there is no reply in time. */
  private async sendNow({ target, lane, parts, timeoutMs }: OutgoingChunk): Promise<readonly PartReply[]> {
    const payload: OutgoingPayload = {
      chunk: randomUUID(),
      gateway: this.options.gatewayId,
      organisation: target.organisationId,
      model: target.model.id,
      version: target.model.version,
      otherModels: target.model.otherModelIds,
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

/** Cuts a call into parts of at most 250 records, each record packed to the fields that the model knows. */
function* packedParts(call: ScoringCall, { knownFields }: AdmittedModel): Generator<OutgoingPart> {
  for (let firstRow = 0; firstRow < call.records.length; firstRow += maxChunkRecords) {
    const records = call.records.slice(firstRow, firstRow + maxChunkRecords);
    yield {
      now: call.atMs,
      explain: call.explain,
      firstRow,
      crmIds: records.map((record) => record.crmId),
      rows: records.map((record) => JSON.stringify(knownFields.pack(record.fields))),
    };
  }
}

/** What each record was scored from: what was sent, or what the worker filled in beside it. */
function fieldsOf(sent: readonly OutgoingPart[], scored: readonly ScoredPart[]): string[] {
  return sent.flatMap(({ rows }, index) => {
    const filled = scored[index]?.filled ?? [];
    if (filled.length === 0) return rows;
    const fields = [...rows];
    for (const [row, text] of filled) fields[row] = text;
    return fields;
  });
}
