import { type Collection, type Db, ObjectId } from 'mongodb';
import { maxArrivalMs } from '../../contract/identifiers.js';
import type { OutcomeStore } from '../validation/outcomes.js';
import type { ValidationDailyStore } from '../validation/validation-daily.js';
import { type IdempotencyStore, idempotencyMs } from './idempotency.js';
import type { PredictionStore } from './predictions.js';

/** The stores that hold data of leads. */
export interface ErasingStores {
  readonly predictions: PredictionStore;
  readonly outcomes: OutcomeStore;
  readonly daily: ValidationDailyStore;
  readonly idempotency: IdempotencyStore;
}

/** A lead to erase. */
export interface LeadToErase {
  readonly organisationId: string;
  readonly crmId: string;
  readonly nowMs: number;
  /** Erases only data of calls with smaller ids; without it everything, including the outcome. */
  readonly beforeId?: string;
}

/**
 * Erases the data of a lead:
 * - predictions lose its id and fields;
 * - stored replies lose its id and everything derived from its fields;
 * - its outcome is deleted.
 *
 * Its counted usage stays.
 * @returns whether anything was stored of the lead
 */
export async function eraseLead(
  { predictions, outcomes, daily, idempotency }: ErasingStores,
  { organisationId, crmId, nowMs, beforeId }: LeadToErase,
): Promise<boolean> {
  // Replies of older calls have expired.
  const sinceMs = nowMs - idempotencyMs - maxArrivalMs;
  const callIds = await predictions.callsOf(organisationId, crmId, { sinceMs, beforeId });
  await idempotency.eraseLead({ organisationId, crmId, callIds });
  const days = await predictions.daysOf(organisationId, crmId, beforeId);
  const wasScored = await predictions.erase(organisationId, crmId, beforeId);
  const hadOutcome = beforeId === undefined && (await outcomes.erase(organisationId, crmId));
  // Runs last, so that a grader that recomputes the days no longer finds the lead.
  await daily.markStale(organisationId, days);
  return wasScored || hadOutcome;
}

/** One document of `erasures`. */
export interface Erasure {
  readonly _id: ObjectId;
  readonly org: string;
  readonly crm_id: string;
  /** When the erasure ended; until then, when it began. */
  readonly at: Date;
}

const maxErasures = 1_000;

/**
 * Recent erasures. A call in flight during an erasure may be recorded after it, with fields that it read before it. So
 * each lead is erased a second time, once such calls have ended. The second erasure also completes one that a gateway
 * began and did not end.
 */
export class ErasureStore {
  private readonly collection: Collection<Erasure>;

  constructor(database: Db) {
    this.collection = database.collection<Erasure>('erasures');
  }

  /** Stores that an erasure begins. */
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

  /** Stores that an erasure has ended. */
  async end(_id: ObjectId, nowMs: number): Promise<void> {
    await this.collection.updateOne({ _id }, { $set: { at: new Date(nowMs) } });
  }

  /** Up to 1,000 erasures that began or ended by an instant. */
  async upTo(atMs: number): Promise<Erasure[]> {
    return await this.collection
      .find({ at: { $lte: new Date(atMs) } })
      .limit(maxErasures)
      .toArray();
  }

  async forget({ _id }: Erasure): Promise<void> {
    await this.collection.deleteOne({ _id });
  }
}
