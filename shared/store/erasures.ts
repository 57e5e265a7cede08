import { type Collection, type Db, ObjectId } from 'mongodb';
import { longestArrivalMs } from '../identifiers.js';
import { type IdempotencyStore, idempotencyMs } from './idempotency.js';
import type { OutcomeStore } from './outcomes.js';
import type { PredictionStore } from './predictions.js';
import type { ValidationDailyStore } from './validation-daily.js';

/** What a lead is erased from. */
export interface ErasingStores {
  readonly predictions: PredictionStore;
  readonly outcomes: OutcomeStore;
  readonly daily: ValidationDailyStore;
  readonly idempotency: IdempotencyStore;
}

/** A lead that is to be erased. */
export interface LeadToErase {
  readonly organisationId: string;
  readonly crmId: string;
  readonly nowMs: number;
  /** Only what calls of smaller ids have left; everything when left out, outcomes too. */
  readonly beforeId?: string;
}

/**
 * Takes a lead out of all that is stored: predictions lose its id and fields, replies that wait to be replayed its id and
 * what was made of its fields, and its outcome goes; what was counted stays counted.
 * @returns whether there was anything
 */
export async function eraseLead(
  { predictions, outcomes, daily, idempotency }: ErasingStores,
  { organisationId, crmId, nowMs, beforeId }: LeadToErase,
): Promise<boolean> {
  // Those whose replies may still be kept.
  const sinceMs = nowMs - idempotencyMs - longestArrivalMs;
  const callIds = await predictions.callsOf(organisationId, crmId, { sinceMs, beforeId });
  await idempotency.eraseLead({ organisationId, crmId, callIds });
  const days = await predictions.daysOf(organisationId, crmId, beforeId);
  const wasScored = await predictions.erase(organisationId, crmId, beforeId);
  const hadOutcome = beforeId === undefined && (await outcomes.erase(organisationId, crmId));
  // Afterwards: a grader that reads the days once more then finds them without the lead.
  await daily.markStale(organisationId, days);
  return wasScored || hadOutcome;
}

/** A lead whose erasure was asked for. */
export interface Erasure {
  readonly _id: ObjectId;
  readonly org: string;
  readonly crm_id: string;
  /** When it was erased; before that, when that was begun. */
  readonly at: Date;
}

const mostAtOnce = 1_000;

/**
 * Erasures of late. A call that was under way meanwhile may be recorded afterwards, with fields that it was filled in with
 * before: so each lead is erased once more when such calls have ended. That also ends what a gateway has begun and not ended.
 */
export class ErasureStore {
  private readonly collection: Collection<Erasure>;

  constructor(database: Db) {
    this.collection = database.collection<Erasure>('erasures');
  }

  /** Notes that a lead is about to be erased. */
  async begin(lead: {
    readonly organisationId: string;
    readonly crmId: string;
    readonly nowMs: number;
  }): Promise<ObjectId> {
    const _id = new ObjectId();
    const { organisationId: org, crmId, nowMs } = lead;
    const erasure = { _id, org, crm_id: crmId, at: new Date(nowMs) };
    await this.collection.insertOne(erasure, { writeConcern: { w: 'majority' } });
    return _id;
  }

  /** Notes that it has been. */
  async end(_id: ObjectId, nowMs: number): Promise<void> {
    await this.collection.updateOne({ _id }, { $set: { at: new Date(nowMs) } });
  }

  /** Erasures up to an instant, not all at once. */
  async upTo(atMs: number): Promise<Erasure[]> {
    return await this.collection
      .find({ at: { $lte: new Date(atMs) } })
      .limit(mostAtOnce)
      .toArray();
  }

  async forget({ _id }: Erasure): Promise<void> {
    await this.collection.deleteOne({ _id });
  }
}
