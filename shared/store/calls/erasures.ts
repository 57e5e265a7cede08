import type { Collection, Db } from 'mongodb';
import { writtenForms } from '../../contract/crm-id.js';
import { dayMs, dayNumber } from '../../contract/dates.js';
import { hashSecret } from '../../contract/identifiers.js';
import { JobResultStore } from '../jobs/job-results.js';
import { CandidateScoreStore } from '../models/candidate-scores.js';
import { OutcomeStore } from '../validation/outcomes.js';
import { ValidationDailyStore } from '../validation/validation-daily.js';
import { IdempotencyStore } from './idempotency.js';
import { callIdOf } from './prediction-segment.js';
import { PredictionStore } from './predictions.js';

/** The stores that hold data of leads. */
export interface ErasingStores {
  readonly predictions: PredictionStore;
  readonly outcomes: OutcomeStore;
  readonly daily: ValidationDailyStore;
  readonly idempotency: IdempotencyStore;
  readonly jobResults: JobResultStore;
  readonly candidateScores: CandidateScoreStore;
}

/** The stores of a database that hold data of leads. */
export const erasingStores = (database: Db): ErasingStores => ({
  predictions: new PredictionStore(database),
  outcomes: new OutcomeStore(database),
  daily: new ValidationDailyStore(database),
  idempotency: new IdempotencyStore(database),
  jobResults: new JobResultStore(database),
  candidateScores: new CandidateScoreStore(database),
});

/** A lead of an organisation. */
export interface Lead {
  readonly organisationId: string;
  readonly crmId: string;
}

const segmentsPerStep = 500;

/**
 * Erases the data of a lead:
 * - predictions lose its id and fields;
 * - stored replies, and results of bulk jobs, lose its id in every form that a caller may have sent. Replies and
 *   results also lose everything derived from its fields;
 * - scores of candidates lose its rows;
 * - its outcome is deleted.
 *
 * The counted usage of the lead stays. A call that is recorded meanwhile keeps the lead in both its predictions and its
 * reply, and a later erasure finds it by its predictions.
 * @param lead.crmId as it is stored
 * @param lead.arrivedBy erases only data of calls that had arrived by then, by Redis's clock, and no outcome
 * @returns whether anything was stored of the lead
 */
export async function eraseLead(
  { predictions, outcomes, daily, idempotency, jobResults, candidateScores }: ErasingStores,
  lead: Lead & { readonly arrivedBy?: Date },
): Promise<boolean> {
  const { organisationId, crmId, arrivedBy } = lead;
  const days = new Set<number>();
  let wasScored = false;
  for (let isLast = false; !isLast; ) {
    const segments = await predictions.segmentsWith(lead, segmentsPerStep);
    const ids = segments.map(({ _id }) => _id);
    isLast = segments.length < segmentsPerStep;
    // Replies and results come before predictions, and predictions of these calls only: a reply is found by its call's
    // predictions.
    const callIds = ids.map(callIdOf);
    for (const written of writtenForms(crmId)) {
      await idempotency.eraseLead({ organisationId, crmId: written, callIds });
      await jobResults.eraseLead({ organisationId, crmId: written, callIds });
    }
    if (segments.length === 0) break;
    wasScored = true;
    await predictions.erase(lead, ids);
    // Comes last, so that a grader that recomputes the days no longer finds the lead.
    for (const { at } of segments) days.add(dayNumber(at.getTime()));
    await daily.markStale(organisationId, [...days]);
  }
  // After the predictions: a run of a candidate writes first, and then reads whether they still name the lead.
  if (await candidateScores.eraseLead(lead)) await daily.markStale(organisationId, [...days]);
  const hadOutcome = arrivedBy === undefined && (await outcomes.erase(organisationId, crmId));
  return wasScored || hadOutcome;
}

/** One document of `erasures`. After the second erasure, only the hash of the lead is left. */
export interface Erasure {
  /** See `leadHash`. */
  readonly _id: string;
  readonly org: string;
  readonly crm_id?: string;
  /** When the erasure ended or, until then, began, by Redis's clock. */
  readonly erased_at: Date;
  /** When the second erasure is due, by Redis's clock. Absent after it. */
  readonly due_at?: Date;
  /** Whether anything was stored of the lead. */
  readonly was_known?: true;
}

/** An erasure whose second pass is to come. */
export type DueErasure = Erasure & { readonly crm_id: string };

/** The part of an erasure that is left after the second one. */
export type RememberedErasure = Pick<Erasure, '_id' | 'org' | 'erased_at'>;

/** The hash of a lead in `erasures`: without the pepper it does not tell which lead it was. */
export const leadHash = ({ organisationId, crmId }: Lead, pepper: string): string =>
  hashSecret(`erased ${organisationId} ${crmId}`, pepper);

/** How long an erasure is remembered, to be repeated after a restore from a backup. */
const rememberedMs = 400 * dayMs;
const isDue = { due_at: { $exists: true } } as const;

/**
 * Erasures. A call in flight during an erasure may be recorded after it, with fields that it read before it. So each
 * lead is erased a second time, once such calls have ended. The second erasure also completes one that a gateway began
 * and did not end. A hash of each erased lead is kept for 400 days.
 */
export class ErasureStore {
  private readonly collection: Collection<Erasure>;

  constructor(database: Db) {
    this.collection = database.collection<Erasure>('erasures');
  }

  async prepare(): Promise<void> {
    await this.collection.createIndex({ org: 1, due_at: 1 }, { partialFilterExpression: isDue });
    await this.collection.createIndex({ erased_at: 1 }, { expireAfterSeconds: rememberedMs / 1_000 });
  }

  /** Stores that the erasure of a lead begins or has ended. Idempotent; the latest erasure of a lead counts. */
  async add(
    { organisationId, crmId }: Lead,
    of: { readonly hash: string; readonly atMs: number; readonly dueMs: number; readonly wasKnown: boolean },
  ): Promise<void> {
    const known = of.wasKnown ? { was_known: true as const } : {};
    await this.collection.updateOne(
      { _id: of.hash },
      {
        $set: { org: organisationId, crm_id: crmId, ...known },
        $max: { erased_at: new Date(of.atMs), due_at: new Date(of.dueMs) },
      },
      { upsert: true, writeConcern: { w: 'majority' } },
    );
  }

  /** The due erasures of the first organisation after another one, oldest first. */
  async dueAfter(organisationId: string, nowMs: number, most: number): Promise<DueErasure[]> {
    const found = await this.collection
      .find({ org: { $gt: organisationId }, due_at: { $lte: new Date(nowMs) } })
      .sort({ org: 1, due_at: 1 })
      .limit(most)
      .toArray();
    return found.filter((erasure): erasure is DueErasure => erasure.org === found[0]?.org);
  }

  /** Ends a second erasure, unless the lead was erased again since. Forgets a lead of which nothing was ever stored. */
  async end({ _id, erased_at, was_known }: DueErasure, wasThere: boolean): Promise<void> {
    if (wasThere || was_known === true)
      await this.collection.updateOne(
        { _id, erased_at },
        { $unset: { crm_id: 1, due_at: 1 }, $set: { was_known: true } },
      );
    else await this.collection.deleteOne({ _id, erased_at });
  }

  /** Erasures of an organisation's leads that began, ended or may have ended since a time, by Redis's clock. */
  async countSince(org: string, since: Date): Promise<number> {
    const ended = { erased_at: { $gte: since } };
    return await this.collection.countDocuments({ org, $or: [ended, { due_at: { $gte: since } }] });
  }

  /** All erasures of leads of which anything was stored, by the hash of the lead. */
  remembered(): AsyncIterable<RememberedErasure> {
    return this.collection.find({ was_known: true }).project<RememberedErasure>({ org: 1, erased_at: 1 });
  }

  /** The remembered erasures of some leads. */
  async among(hashes: readonly string[]): Promise<RememberedErasure[]> {
    const known = { _id: { $in: [...hashes] }, was_known: true } as const;
    return await this.collection.find(known).project<RememberedErasure>({ org: 1, erased_at: 1 }).toArray();
  }

  /** Stores erasures that this database may not know, because it was restored from an older backup. */
  async remember(erasures: readonly RememberedErasure[]): Promise<void> {
    if (erasures.length === 0) return;
    const writes = erasures.map(({ _id, org, erased_at }) => ({
      updateOne: {
        filter: { _id },
        update: { $set: { org, was_known: true as const }, $max: { erased_at } },
        upsert: true,
      },
    }));
    await this.collection.bulkWrite(writes, { ordered: false, writeConcern: { w: 'majority' } });
  }

  /** Puts off a second erasure that has failed, unless another process has ended it meanwhile. */
  async putOff({ _id, erased_at }: DueErasure, dueMs: number): Promise<void> {
    await this.collection.updateOne({ _id, erased_at, ...isDue }, { $set: { due_at: new Date(dueMs) } });
  }
}
