import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { LatestScores } from '../../../shared/latest-scores/latest-scores.js';
import { latestScoresKey } from '../../../shared/redis/keys.js';
import type { LatestPrediction } from '../../../shared/store/calls/lead-lookup.js';
import { predictionId } from '../../../shared/store/calls/prediction-slice.js';
import { freshCounter, QuotaRig } from '../quota/rig/quota-rig.js';

export const modelId = 'mdl_A';

/** A call that scores leads: each with its score, in the order of the rows. */
export type Rows = readonly (readonly [crmId: string | null, score: number])[];

/** Newest scores on a real Redis, with the predictions that MongoDB would hold in memory. */
export class LatestRig {
  readonly quota: QuotaRig;
  readonly latest: LatestScores;
  readonly counter = freshCounter();
  /** Recorded predictions that were not erased, in any order. */
  predictions: LatestPrediction[] = [];
  private readonly calls = new Map<string, { readonly rows: Rows; readonly epoch: string }>();

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

  /** Reserves and records a call, as a gateway does before it settles. */
  async record(callId: string, rows: Rows): Promise<void> {
    const { epoch } = await this.read('any');
    await this.quota.reserve(this.counter, callId, rows.length, 1_000_000);
    this.quota.ledger.record(this.counter, callId, rows.length);
    this.calls.set(callId, { rows, epoch });
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

  /** What Redis says of leads: undefined where it does not know. */
  async read(...crmIds: string[]) {
    const [found] = await this.latest.read({
      organisationId: this.organisationId,
      modelIds: [modelId],
      crmIds,
    });
    if (found === undefined) throw new Error('nothing was said of the model');
    return { epoch: found.epoch, scores: crmIds.map((_, place) => found.scores[place]) };
  }

  /** What MongoDB would say of leads now. */
  lookUp(crmIds: readonly string[]): LatestPrediction[] {
    return crmIds.flatMap((crmId) => this.latestOf(crmId) ?? []);
  }

  /** Notes what a look-up found. */
  async fill(epoch: string, crmIds: readonly string[], latest: readonly LatestPrediction[]): Promise<void> {
    await this.latest.fill({ organisationId: this.organisationId, modelId, epoch, crmIds, latest });
  }

  /** Reads leads, and has those that Redis did not know looked up and noted. */
  async warm(...crmIds: string[]): Promise<void> {
    const { epoch, scores } = await this.read(...crmIds);
    const unknown = crmIds.filter((_, place) => scores[place] === undefined);
    await this.fill(epoch, unknown, this.lookUp(unknown));
  }

  /** Erases a lead in the steps of `DELETE /v1/scores/{crm_id}`. */
  async erase(crmId: string, nowMs: number): Promise<void> {
    this.predictions = this.predictions.filter((each) => each.crmId !== crmId);
    await this.latest.erase({ organisationId: this.organisationId, modelIds: [modelId], crmId, nowMs });
  }

  /** Drops what is left of it, when the calls from before have ended. */
  async forgetLead(crmId: string, atMs: number): Promise<void> {
    await this.latest.forgetLead({ organisationId: this.organisationId, modelIds: [modelId], crmId, atMs });
  }

  forget(): Promise<void> {
    return this.latest.forget(this.organisationId, [modelId]);
  }

  /** What is there is from an earlier run of Redis, as after a restart. */
  async restart(): Promise<void> {
    if ((await this.redis.exists(this.key)) === 1)
      await this.redis.hset(this.key, '', `${randomUUID()} ${randomUUID()}`);
  }

  /** The newest recorded prediction of a lead. */
  latestOf(crmId: string): LatestPrediction | undefined {
    const own = this.predictions.filter((each) => each.crmId === crmId);
    return own.reduce<LatestPrediction | undefined>(
      (latest, each) => (latest === undefined || each.id > latest.id ? each : latest),
      undefined,
    );
  }
}
