import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { callIdFloor } from '../../../shared/contract/identifiers.js';
import { LatestScores } from '../../../shared/latest-scores/latest-scores.js';
import { latestScoresKey } from '../../../shared/redis/keys.js';
import type { LatestPrediction } from '../../../shared/store/calls/lead-lookup.js';
import { predictionId } from '../../../shared/store/calls/prediction-slice.js';
import { freshCounter, QuotaRig } from '../quota/rig/quota-rig.js';

export const modelId = 'mdl_A';

/** The leads and scores of a call, in the order of its rows. */
export type Rows = readonly (readonly [crmId: string | null, score: number])[];

/** Latest scores on a real Redis, with an array in place of MongoDB's predictions. */
export class LatestRig {
  readonly quota: QuotaRig;
  readonly latest: LatestScores;
  readonly counter = freshCounter();
  /** Recorded predictions that were not erased, in any order. */
  predictions: LatestPrediction[] = [];
  private readonly calls = new Map<string, { rows: Rows; readonly epoch: string }>();

  constructor(redisUrl: string) {
    this.quota = new QuotaRig(redisUrl);
    this.latest = new LatestScores(this.quota.redis);
  }

  get redis(): Redis {
    return this.quota.redis;
  }

  get organisationId(): string {
    return this.counter.organisationId;
  }

  get key(): string {
    return latestScoresKey(this.organisationId, modelId);
  }

  close(): void {
    this.quota.close();
  }

  /** Reads the epoch for a call, as a worker does before it scores. */
  async begin(callId: string): Promise<void> {
    const { epoch } = await this.read('any');
    this.calls.set(callId, { rows: [], epoch });
  }

  /** Reserves and records a call, as a gateway does before it settles. */
  async record(callId: string, rows: Rows): Promise<void> {
    if (!this.calls.has(callId)) await this.begin(callId);
    await this.quota.reserve(this.counter, callId, rows.length, 1_000_000);
    this.quota.ledger.record(this.counter, callId, rows.length);
    const call = this.calls.get(callId);
    if (call !== undefined) call.rows = rows;
    for (const [row, [crmId, score]] of rows.entries())
      if (crmId !== null) this.predictions.push({ crmId, id: predictionId(callId, row), score });
  }

  async settle(callId: string): Promise<void> {
    const { rows, epoch } = this.calls.get(callId) ?? { rows: [], epoch: '' };
    const scores = rows.map(([, score]) => score);
    await this.quota.quota.settle(this.counter, callId, {
      latest: { modelId, crmIds: rows.map(([crmId]) => crmId), scores, epoch },
    });
  }

  async score(callId: string, rows: Rows): Promise<void> {
    await this.record(callId, rows);
    await this.settle(callId);
  }

  /** Reads leads from Redis; undefined where Redis does not know. */
  async read(...crmIds: string[]) {
    const [found] = await this.latest.read({
      organisationId: this.organisationId,
      modelIds: [modelId],
      crmIds,
    });
    if (found === undefined) throw new Error('the read returned no entry for the model');
    return { epoch: found.epoch, scores: crmIds.map((_, place) => found.scores[place]) };
  }

  /** Looks leads up in the predictions, in place of MongoDB. */
  lookUp(crmIds: readonly string[]): LatestPrediction[] {
    return crmIds.flatMap((crmId) => this.latestOf(crmId) ?? []);
  }

  /** Stores the result of a look-up in Redis. */
  async fill(epoch: string, crmIds: readonly string[], latest: readonly LatestPrediction[]): Promise<void> {
    await this.latest.fill({ organisationId: this.organisationId, modelId, epoch, crmIds, latest });
  }

  /** Reads leads, and looks up and fills those that Redis does not know. */
  async warm(...crmIds: string[]): Promise<void> {
    const { epoch, scores } = await this.read(...crmIds);
    const unknown = crmIds.filter((_, place) => scores[place] === undefined);
    await this.fill(epoch, unknown, this.lookUp(unknown));
  }

  /** Erases a lead as `DELETE /v1/scores/{crm_id}` does: predictions first, then Redis. */
  async erase(crmId: string, atMs: number): Promise<void> {
    this.predictions = this.predictions.filter((each) => each.crmId !== crmId);
    await this.forgetLead(crmId, atMs);
  }

  /** Erases what calls recorded that were in flight at the erasure, as the upkeep does a lease later. */
  async eraseAgain(crmId: string, atMs: number): Promise<void> {
    const beforeId = callIdFloor(atMs + 1);
    this.predictions = this.predictions.filter((each) => each.crmId !== crmId || each.id >= beforeId);
    await this.forgetLead(crmId, atMs);
  }

  private async forgetLead(crmId: string, atMs: number): Promise<void> {
    await this.latest.forgetLead({ organisationId: this.organisationId, modelIds: [modelId], crmId, atMs });
  }

  forget(): Promise<void> {
    return this.latest.forget(this.organisationId, [modelId]);
  }

  /** Makes the hash look like that of an earlier run of Redis, as after a restart. */
  async restart(): Promise<void> {
    if ((await this.redis.exists(this.key)) === 1)
      await this.redis.hset(this.key, '', `${randomUUID()} ${randomUUID()} 0`);
  }

  /** The latest recorded prediction of a lead. */
  latestOf(crmId: string): LatestPrediction | undefined {
    const own = this.predictions.filter((each) => each.crmId === crmId);
    return own.reduce<LatestPrediction | undefined>(
      (latest, each) => (latest === undefined || each.id > latest.id ? each : latest),
      undefined,
    );
  }
}
