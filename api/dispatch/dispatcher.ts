import { randomUUID } from 'node:crypto';
import { setImmediate as nextStep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { Batcher } from '../../shared/async/batcher.js';
import { FairQueue } from '../../shared/async/fair-queue.js';
import { ApiError } from '../../shared/contract/errors.js';
import type { Lane } from '../../shared/contract/lanes.js';
import { allows } from '../../shared/contract/roles.js';
import {
  type OutgoingPart,
  type OutgoingPayload,
  type PartReply,
  type RefusedPart,
  type ScoredPart,
  smallChunkRecords,
} from '../../shared/messages/score-job.js';
import type { ScoredRows } from '../call/score-outcome.js';
import { type AdmittedModel, msUntil, type ScoringCall } from '../call/scoring-call.js';
import { withoutStoredValues } from '../call/stored-values.js';
import { ChunkAges } from './chunk-ages.js';
import { ChunkSizes } from './chunk-sizes.js';
import type { ColdVersions } from './cold-versions.js';
import { sentNamesOf } from './field-names.js';
import type { LaneQueues } from './lane-queues.js';
import {
  dividedPart,
  fieldsOf,
  filledCharacters,
  maxPartCharacters,
  packedParts,
  recordsOf,
  sharedChunks,
} from './parts.js';
import { partsOf, refusal, unanswered, withoutWorkers } from './refusal.js';
import type { ReplyStream } from './reply-stream.js';
import { maxOtherShare, VersionPartitions } from './version-partitions.js';

export interface DispatcherOptions {
  readonly gatewayId: string;
  readonly queues: Pick<LaneQueues, 'partitions' | 'windowSize' | 'workersOf' | 'isWithoutWorkers' | 'add' | 'cancel'>;
  readonly replies: Pick<ReplyStream, 'waitFor' | 'forget'>;
  readonly coldVersions: Pick<ColdVersions, 'run'>;
}

const maxWaitingChunks = 1_000; // about 10 s of work on 2 cores

/**
 * A short batch may bring back megabytes of stored fields, from MongoDB and back. For this long the chunks of its
 * organisation, and of others with such a batch, go one at a time.
 */
const longFillInsMs = 60_000;

const maxSinglesPerChunk = 32; // a chunk of 32 records costs about as much as a chunk of one
/** A single that takes longer waits for a slow model or for a worker that died. It must not delay the next. */
const maxHoldMs = 100;

/** The organisation and the model of a chunk. */
interface ChunkTarget {
  readonly organisationId: string;
  readonly model: AdmittedModel;
}

/** The call of a part, and its end. */
interface PartOfCall {
  readonly call: ScoringCall;
  readonly ended: Promise<void>;
}

interface AnsweredPart {
  readonly part: OutgoingPart;
  readonly reply: ScoredPart | RefusedPart;
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

/** Room for a chunk in a lane, at its turn. */
interface Room {
  readonly partition: number;
  /** How long the chunk has waited for it. */
  readonly heldMs: number;
}

type AssignedChunk = OutgoingChunk & Room;

/**
 * Sends records to the workers and waits for their scores.
 *
 * 1. A batch is cut into chunks, see ChunkSizes, of at most a million characters. All are sent at once.
 * 2. Singles of one model version share chunks, see Batcher.
 * 3. A gateway has a limited number of chunks in each partition of a lane. Organisations take turns, see FairQueue.
 * 4. A version that no worker is known to have loaded has one chunk in flight, see ColdVersions.
 * 5. A version's chunks go to its home partition, and to as many others as they fill, see VersionPartitions. Others
 *    stand in for slow ones, as when a process hangs.
 * 6. A chunk without a reply at its deadline is cancelled, so that no worker starts it.
 */
export class Dispatcher {
  private readonly singles: Batcher<Single, PartReply>;
  private readonly queuesOf: Readonly<Record<Lane, FairQueue>>;
  /** Organisations whose short batch brought back long stored fields. */
  private readonly longFillIns = new LRUCache<string, true>({ max: 1_000, ttl: longFillInsMs });
  private readonly ages = new ChunkAges();
  private readonly sizes: ChunkSizes;
  private readonly partitions: VersionPartitions;
  private readonly longFillInQueue = new FairQueue({ size: () => 1, maxWaiting: maxWaitingChunks });

  constructor(private readonly options: DispatcherOptions) {
    this.sizes = new ChunkSizes(options.queues);
    const fairQueue = (lane: Lane) =>
      new FairQueue({
        size: (partition) => options.queues.windowSize(lane, partition),
        maxWaiting: maxWaitingChunks,
        maxOtherShare,
      });
    this.partitions = new VersionPartitions({
      queues: options.queues,
      isSlow: (lane, partition) => this.ages.isSlow(lane, partition),
    });
    this.queuesOf = { singles: fairQueue('singles'), batches: fairQueue('batches'), bulk: fairQueue('bulk') };
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
   * internalError when no answer came in time. A tolerant call gets only the latter. Without worker processes in the
   * lane, that error comes at once
   */
  async score(call: ScoringCall, model: AdmittedModel, ended: Promise<void>): Promise<ScoredRows> {
    if (this.options.queues.isWithoutWorkers(call.lane)) throw withoutWorkers(call.lane);
    const target = { organisationId: call.apiKey.organisation_id, model };
    const names = await sentNamesOf(call, model.knownFields);
    const isSlow = call.explain || this.longFillIns.has(target.organisationId);
    const size = { lane: call.lane, records: call.records.length, isSlow };
    const answered = await this.sizes.run(size, async (maxRecords) => {
      const inFlight: Promise<readonly AnsweredPart[]>[] = [];
      for (const part of packedParts(call, model, { names, maxRecords })) {
        // Parts leave while further ones are packed.
        if (inFlight.length > 0) await nextStep();
        const scoring = this.scorePart(part, target, { call, ended });
        scoring.catch(() => undefined);
        inFlight.push(scoring);
      }
      return (await Promise.all(inFlight)).flat();
    });
    const replies = answered.map(({ reply }) => reply);
    const refused = replies.filter((reply): reply is RefusedPart => 'problems' in reply);
    if (refused.length > 0) throw refusal(refused, call, { knownFields: model.knownFields, names });
    const scored = replies.filter((reply): reply is ScoredPart => 'scores' in reply);
    const hides = call.explain && !allows(call.apiKey, 'read');
    return {
      parts: hides
        ? answered.flatMap(({ part, reply }) => ('scores' in reply ? withoutStoredValues(reply, part, model) : []))
        : scored,
      fields: fieldsOf(
        answered.map(({ part }) => part),
        scored,
      ),
      refused: scored.flatMap((part) => part.refused ?? []),
      ...(call.inputReport !== undefined && { input: { names, model } }),
    };
  }

  /**
   * Scores rows that were recorded before, in tolerant parts without leads. Parts share chunks.
   * @returns the replies in the order of the parts
   * @throws ApiError internalError when no answer came in time, or when the version could not score
   */
  async scoreParts({ parts, ...chunk }: OutgoingChunk): Promise<readonly ScoredPart[]> {
    const size = { lane: chunk.lane, records: recordsOf(parts), isSlow: false };
    const replies = await this.sizes.run(size, (maxRecords) =>
      Promise.all(sharedChunks(parts, maxRecords).map((some) => this.sendChunk({ ...chunk, parts: some }))),
    );
    return replies.flat().map((reply) => {
      if ('scores' in reply) return reply;
      throw unanswered('a part of recorded rows came back without scores');
    });
  }

  /** Chunks that wait in this gateway for room in a lane. */
  waiting(lane: Lane): number {
    return this.queuesOf[lane].depth;
  }

  /** Scores a part, or its records in smaller parts if their stored fields are too long for one chunk. */
  private async scorePart(part: OutgoingPart, target: ChunkTarget, by: PartOfCall): Promise<readonly AnsweredPart[]> {
    const reply = await this.replyTo(part, target, by);
    if (!('isTooLong' in reply)) return [{ part, reply }];
    this.longFillIns.set(target.organisationId, true);
    const smaller = dividedPart(part, smallChunkRecords).map((each) => this.scorePart(each, target, by));
    return (await Promise.all(smaller)).flat();
  }

  private async replyTo(part: OutgoingPart, target: ChunkTarget, { call, ended }: PartOfCall): Promise<PartReply> {
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
    const lane = 'singles';
    const sendTo = async (room: Room) => {
      const nowMs = performance.now();
      const live = singles.filter((single) => single.endMs > nowMs);
      const parts = live.map(({ part }) => part);
      const replies = await this.sendNow({ target, lane, parts, timeoutMs: leftUntil(endMs), ...room });
      const replyOf = new Map(live.map((single, index) => [single, replies[index]]));
      return singles.map((single) => replyOf.get(single) ?? unanswered('the record expired in the queue'));
    };
    return await this.inTurn({ target, lane, parts: singles.map(({ part }) => part), endMs }, sendTo);
  }

  /** Sends one chunk at the organisation's turn, and waits for its reply. */
  private async sendChunk(sent: OutgoingChunk): Promise<readonly PartReply[]> {
    const { organisationId } = sent.target;
    const endMs = performance.now() + sent.timeoutMs;
    const sendTo = (room: Room) => this.sendNow({ ...sent, timeoutMs: leftUntil(endMs), ...room });
    const send = () => this.inTurn({ ...sent, endMs }, sendTo);
    const replies = await (this.longFillIns.has(organisationId)
      ? this.longFillInQueue.run(organisationId, sent.timeoutMs, send)
      : send());
    const small = recordsOf(sent.parts) / smallChunkRecords;
    if (filledCharacters(replies) >= maxPartCharacters * Math.max(1, small)) this.longFillIns.set(organisationId, true);
    return replies;
  }

  /** Runs `sendTo` when the version may have another chunk in flight, and a partition of the lane has room. */
  private async inTurn<Replies>(
    chunk: Pick<OutgoingChunk, 'target' | 'lane' | 'parts'> & { readonly endMs: number },
    sendTo: (room: Room) => Promise<Replies>,
  ): Promise<Replies> {
    const { target, lane, parts, endMs } = chunk;
    const { organisationId, model } = target;
    const loaded = { lane, organisationId, model, explain: parts.some(({ explain }) => explain) };
    return await this.options.coldVersions.run(loaded, leftUntil(endMs), () => {
      const sinceMs = performance.now();
      const send = (partition: number) => sendTo({ partition, heldMs: performance.now() - sinceMs });
      return this.partitions.run(lane, `${model.id}:${model.version}`, (partitions) =>
        this.queuesOf[lane].run(organisationId, leftUntil(endMs), send, partitions),
      );
    });
  }

  /** Sends one chunk now. Rejects with an ApiError when no reply arrives in time. */
  private async sendNow(sent: AssignedChunk): Promise<readonly PartReply[]> {
    const { target, lane, partition, parts, timeoutMs, heldMs } = sent;
    const payload: OutgoingPayload = {
      chunk: randomUUID(),
      partition,
      gateway: this.options.gatewayId,
      organisation: target.organisationId,
      model: target.model.id,
      version: target.model.version,
      parts,
    };
    const reply = this.options.replies.waitFor(payload.chunk, timeoutMs);
    const answered = this.ages.begin(lane, partition);
    try {
      await Promise.race([this.options.queues.add(lane, payload, timeoutMs, heldMs), reply]);
      return partsOf(await reply);
    } catch (error) {
      this.options.replies.forget(payload.chunk);
      this.options.queues.cancel(lane, payload);
      throw error instanceof ApiError ? error : unanswered(error);
    } finally {
      answered();
    }
  }
}

/** Whole ms until a time on the clock of `performance.now()`, at least one. */
const leftUntil = (endMs: number): number => Math.max(1, Math.floor(endMs - performance.now()));
