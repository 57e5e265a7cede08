import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { callIdFloor } from '../../../shared/contract/identifiers.js';
import { type CachedLead, LatestScores, maxLatestLeads } from '../../../shared/latest-scores/latest-scores.js';
import { ScoreNotes } from '../../../shared/latest-scores/note-scores.js';
import type { ChunkPayload } from '../../../shared/messages/score-job.js';
import { quotaCode } from '../../../shared/quota/commands.js';
import { latestScoresKey } from '../../../shared/redis/keys.js';
import type { LeadQuery, LeadScores } from '../../../shared/store/calls/lead-lookup.js';
import { predictionId } from '../../../shared/store/calls/prediction-segment.js';
import { findKnownLeads, requestLatestScores } from '../../../worker/scoring/lead-lookup.js';
import { freshCounter, leaseMs, QuotaRig } from '../quota/rig/quota-rig.js';

const modelId = 'mdl_A';

/** The leads and scores of a call, in the order of its rows, and perhaps the gaps of these. */
export type Rows = readonly (readonly [crmId: string | null, score: number, gaps?: number])[];

export interface Prediction {
  readonly crmId: string;
  readonly modelId: string;
  readonly version: string;
  readonly id: string;
  readonly score: number;
  readonly gaps: number;
}

interface Call {
  readonly modelId: string;
  readonly version: string;
  /** Undefined until a worker has looked the leads up. */
  epoch?: string | undefined;
  rows: Rows;
}

/** Latest scores on a real Redis, with an array in place of MongoDB's predictions. */
export class LatestRig {
  readonly quota: QuotaRig;
  readonly latest: LatestScores;
  readonly counter = freshCounter();
  /** Recorded predictions that were not erased, in any order. */
  predictions: Prediction[] = [];
  /** Max fields of the hash: its leads and what it has besides. */
  maxFields = maxLatestLeads;
  /** The version under which leads are looked up and read. */
  version = '1';
  private readonly calls = new Map<string, Call>();

  constructor(redisUrl: string, redis?: Redis) {
    this.quota = new QuotaRig(redisUrl, redis === undefined ? {} : { redis });
    this.latest = new LatestScores(this.quota.redis);
  }

  get redis(): Redis {
    return this.quota.redis;
  }

  get organisationId(): string {
    return this.counter.organisationId;
  }

  get key(): string {
    return latestScoresKey(this.organisationId);
  }

  close(): void {
    this.quota.close();
  }

  /** Looks up the leads of a call, as a worker does before it scores them. */
  async lookUp(callId: string, rows: Rows, under = modelId): Promise<ReadonlyMap<string, LeadScores>> {
    const nowMs = msOf(callId);
    const chunk: ChunkPayload = {
      ...{ chunk: callId, partition: 0, gateway: 'gw', organisation: this.organisationId, model: under },
      version: this.version,
      parts: [{ now: nowMs, explain: false, firstRow: 0, crmIds: rows.map(([crmId]) => crmId), rows: [] }],
    };
    const seen = new Map<string, LeadScores>();
    const predictions = {
      latest: async ({ crmIds }: LeadQuery) => {
        const found = crmIds.flatMap((crmId) => {
          const scores = this.scoresOf(crmId, under);
          return scores === undefined ? [] : [[crmId, scores] as const];
        });
        return new Map(found);
      },
      latestOwn: async ({ crmIds }: LeadQuery) =>
        new Map(
          crmIds.flatMap((crmId) => {
            const own = this.scoresOf(crmId, under)?.own;
            return own === undefined ? [] : [[crmId, own] as const];
          }),
        ),
      storedRecords: async () => new Map(),
    };
    const known = await findKnownLeads(chunk, requestLatestScores(chunk, this.latest), new Map(), {
      predictions,
      fieldsOf: async () => undefined,
      timeoutMs: 1_000,
      keptFromId: '',
    });
    for (const [crmId, { latestId, previousScore }] of known.byCrmId)
      seen.set(crmId, { latestId, own: previousScore === null ? undefined : { id: '', score: previousScore } });
    this.calls.set(callId, { modelId: under, version: this.version, epoch: known.epoch, rows });
    return seen;
  }

  /** Reserves and records a call, as a gateway does before it settles. */
  async record(callId: string, rows: Rows, under = modelId): Promise<void> {
    if (!this.calls.has(callId)) await this.lookUp(callId, rows, under);
    await this.quota.reserve(this.counter, callId, rows.length, 1_000_000);
    this.quota.ledger.record(this.counter, callId, rows.length);
    const call = this.callOf(callId);
    call.rows = rows;
    const { modelId, version } = call;
    for (const [row, [crmId, score, gaps = 0]] of rows.entries())
      if (crmId !== null)
        this.predictions.push({ crmId, modelId, version, id: predictionId(callId, row), score, gaps });
  }

  /** Notes the scores of a call, with `maxFields`. @returns false when it was released */
  async note(callId: string): Promise<boolean> {
    const notes = new ScoreNotes(this.redis, this.maxFields);
    const released = await notes.add([{ counter: this.counter, callId, latest: this.scoredLeads(callId) }]);
    return released.size === 0;
  }

  /** Notes and settles a call, as a gateway does, with `maxFields`. */
  async settle(callId: string): Promise<void> {
    await this.note(callId);
    await this.quota.quota.settle(this.counter, callId);
  }

  /** Settles the records of a call and nothing else. @returns whether it is settled; undefined without a counter */
  async settleRecords(callId: string): Promise<boolean | undefined> {
    const { code } = await this.quota.quota.commands.settle({ counter: this.counter, callId, leaseMs });
    return code === quotaCode.unknownCounter ? undefined : code > 0;
  }

  /** Drops all keys of the organisation, as when Redis is emptied. */
  async empty(): Promise<void> {
    const keys = await this.redis.keys(`{${this.organisationId}}:*`);
    if (keys.length > 0) await this.redis.del(keys);
  }

  /** Settles calls as gateways do, in one batch. */
  async settleTogether(...callIds: string[]): Promise<PromiseSettledResult<unknown>[]> {
    return await Promise.allSettled(
      callIds.map((callId) => this.quota.quota.settle(this.counter, callId, { latest: this.scoredLeads(callId) })),
    );
  }

  async score(callId: string, rows: Rows, under = modelId): Promise<void> {
    await this.record(callId, rows, under);
    await this.settle(callId);
  }

  /** Reads leads from Redis; undefined where Redis does not know. */
  async read(crmIds: readonly string[], under = modelId): Promise<readonly (LeadScores | undefined)[]> {
    const leads = await this.readWithGaps(crmIds, under);
    return leads.map((lead) => lead && { latestId: lead.latestId, own: lead.own });
  }

  /** The same with the gaps of the latest predictions, if these are of `version`. */
  async readWithGaps(crmIds: readonly string[], under = modelId): Promise<readonly (CachedLead | undefined)[]> {
    const { organisationId, version } = this;
    const { leads } = await this.latest.read({ organisationId, modelId: under, version, crmIds });
    return crmIds.map((_, index) => leads[index]);
  }

  /** Makes the hash, as the first look-up does. */
  async warm(): Promise<void> {
    await this.read(['any']);
  }

  /** Erases a lead as `DELETE /v1/scores/{crm_id}` does: predictions first, then Redis. */
  async erase(crmId: string): Promise<void> {
    this.predictions = this.predictions.filter((each) => each.crmId !== crmId);
    await this.latest.forgetLead({ organisationId: this.organisationId, crmId });
  }

  /** Erases what calls recorded that were in flight at the erasure, as the upkeep does a lease later. */
  async eraseAgain(crmId: string, atMs: number): Promise<void> {
    const beforeId = callIdFloor(atMs + 1, this.organisationId);
    this.predictions = this.predictions.filter((each) => each.crmId !== crmId || each.id >= beforeId);
    await this.latest.forgetLead({ organisationId: this.organisationId, crmId });
  }

  /** Voids a recorded call: its row and predictions first, then Redis. Its reservation is left. */
  async voidCall(callId: string): Promise<void> {
    this.quota.ledger.voidCall(callId);
    this.predictions = this.predictions.filter(({ id }) => !id.startsWith(callId));
    await this.forget();
  }

  forget(): Promise<void> {
    return this.latest.forget(this.organisationId);
  }

  /** Makes the hash look like that of an earlier run of Redis, as after a restart. */
  async restart(): Promise<void> {
    if ((await this.redis.exists(this.key)) === 1) await this.redis.hset(this.key, '', `${randomUUID()} token `);
  }

  /** The latest recorded predictions of a lead; undefined when it has none. */
  scoresOf(crmId: string, under: string): LeadScores | undefined {
    const own = this.predictions
      .filter((each) => each.crmId === crmId)
      .sort((one, other) => (one.id < other.id ? 1 : -1));
    const [latest] = own;
    const underModel = own.find((each) => each.modelId === under);
    if (latest === undefined) return undefined;
    return { latestId: latest.id, own: underModel && { id: underModel.id, score: underModel.score } };
  }

  private callOf(callId: string): Call {
    const call = this.calls.get(callId);
    if (call === undefined) throw new Error(`the leads of ${callId} were never looked up`);
    return call;
  }

  private scoredLeads(callId: string) {
    const { modelId: under, version, rows, epoch = '' } = this.callOf(callId);
    return {
      ...{ modelId: under, version, epoch },
      crmIds: rows.map(([crmId]) => crmId),
      scores: rows.map(([, score]) => score),
      gaps: rows.map(([, , gaps = 0]) => gaps),
    };
  }
}

/** The time of a call id, ms. */
const msOf = (callId: string): number =>
  [...callId.slice(6, 15)].reduce((ms, each) => ms * 32 + '0123456789abcdefghjkmnpqrstvwxyz'.indexOf(each), 0);
