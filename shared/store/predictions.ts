import { type Collection, type Db, MongoServerError } from 'mongodb';
import { callIdFloor } from '../identifiers.js';
import { dayNumber } from '../utc-day.js';
import { callsCollection } from './calls-collection.js';
import { inTime } from './in-time.js';
import { erasure } from './lead-erasure.js';
import { type NewestPrediction, type NewestSlice, newestOf, newestPipeline } from './newest-predictions.js';
import { callIdOf, type PredictionSlice, predictionId, rowOf, sliceColumns } from './prediction-slice.js';
import { readStoredRecords, type StoredRecord } from './stored-records.js';

/** One prediction of a lead's history. */
export interface PastScore {
  readonly id: string;
  readonly model: string;
  readonly version: string;
  readonly score: number;
  /** In ten-thousandths. */
  readonly likelihood: number;
  readonly at: Date;
}

/** The index by which the predictions of a lead are found, the newest first. */
export const leadIndex = { org: 1, crm_ids: 1, model: 1, _id: -1 } as const;
/**
 * Leads come in no order, so each entry changes a page of its own, which is written anew: small pages cost less than half
 * of usual ones once the index is larger than what WiredTiger lets be dirty (a twentieth of its cache).
 */
const smallPages = { storageEngine: { wiredTiger: { configString: 'leaf_page_max=4KB' } } };

/** Scored records, and what is known of a lead by them. */
export class PredictionStore {
  private readonly collection: Collection<PredictionSlice>;

  constructor(private readonly database: Db) {
    this.collection = database.collection<PredictionSlice>(callsCollection);
  }

  /** Creates the index of leads; one that is there stays as it is. */
  async prepare(): Promise<void> {
    await this.collection.createIndex(leadIndex, smallPages).catch(async (error: unknown) => {
      if (!(error instanceof MongoServerError)) throw error;
      // It has pages of the usual size already, or the server's storage engine has no such setting.
      await this.collection.createIndex(leadIndex);
    });
  }

  /**
   * The oldest slices between two ids, in the order of the clustered key.
   * @returns their ids
   */
  async oldest(between: { readonly fromId: string; readonly beforeId: string; readonly most: number }) {
    const { fromId, beforeId, most } = between;
    return await this.collection
      .find({ _id: { $gte: fromId, $lt: beforeId }, scores: { $exists: true } })
      .project<{ readonly _id: string }>({ _id: 1 })
      .sort({ _id: 1 })
      .limit(most)
      .map(({ _id }) => _id)
      .toArray();
  }

  /** Removes slices for good; the rows of their calls stay. */
  async remove(ids: readonly string[]): Promise<void> {
    const isFirst = (id: string): boolean => callIdOf(id) === id;
    const firsts = ids.filter(isFirst);
    const further = ids.filter((id) => !isFirst(id));
    if (firsts.length > 0)
      await this.collection.updateMany({ _id: { $in: firsts } }, { $unset: sliceColumns });
    if (further.length > 0) await this.collection.deleteMany({ _id: { $in: further } });
  }

  /**
   * The newest prediction of each lead under one model, for the leads that have any. A step into the index for each lead,
   * however long its history is (0.1 ms): for those that `NewestScores` does not know.
   */
  async newest(query: {
    readonly organisationId: string;
    readonly modelId: string;
    readonly crmIds: readonly string[];
    readonly timeoutMs: number;
  }): Promise<NewestPrediction[]> {
    const { organisationId, modelId, crmIds, timeoutMs } = query;
    if (crmIds.length === 0) return [];
    const under = { org: organisationId, model: modelId };
    return await inTime(timeoutMs, async (signal) => {
      // Of leads that are scored for the first time, as most unknown ones are, one look tells that there is nothing.
      const any = await this.collection.findOne(
        { ...under, crm_ids: { $in: [...crmIds] } },
        { projection: { _id: 1 }, signal },
      );
      if (any === null) return [];
      const found = this.database.aggregate<{ readonly crmId: string; readonly newest: NewestSlice }>(
        newestPipeline(under, crmIds),
        { maxTimeMS: timeoutMs },
      );
      return (await found.toArray()).map(({ crmId, newest }) => newestOf(crmId, newest));
    });
  }

  /** What records were scored from, by the ids of their predictions: see stored-records.ts. */
  storedRecords(ids: readonly string[], timeoutMs: number): Promise<Map<string, StoredRecord>> {
    return readStoredRecords(this.collection, ids, timeoutMs);
  }

  /**
   * The predictions of one lead, newest first.
   * @param query.before id of the prediction that the page comes after
   */
  async history(query: {
    readonly organisationId: string;
    readonly crmId: string;
    readonly modelId: string | undefined;
    readonly before: string | undefined;
    readonly limit: number;
  }): Promise<PastScore[]> {
    const { organisationId, crmId, modelId, before, limit } = query;
    const slices = this.collection
      .find(
        {
          org: organisationId,
          crm_ids: crmId,
          ...(modelId === undefined ? {} : { model: modelId }),
          ...(before === undefined ? {} : { _id: { $lt: before } }),
        },
        { projection: { fields: 0, org: 0 } },
      )
      .sort({ _id: -1 })
      // Of the first slice, nothing may be left; any other has the lead at least once.
      .limit(limit + 1);
    const found: PastScore[] = [];
    for await (const slice of slices) {
      for (const score of scoresOf(slice, crmId))
        if (before === undefined || score.id < before) found.push(score);
    }
    return found.slice(0, limit);
  }

  /** Whether there is any prediction of a lead. */
  async knows(organisationId: string, crmId: string): Promise<boolean> {
    const found = await this.collection.findOne(
      { org: organisationId, crm_ids: crmId },
      { projection: { _id: 1 } },
    );
    return found !== null;
  }

  /** The calls since an instant that scored a lead; those of smaller ids than `beforeId`, where that is given. */
  async callsOf(
    organisationId: string,
    crmId: string,
    { sinceMs, beforeId }: { readonly sinceMs: number; readonly beforeId?: string | undefined },
  ): Promise<string[]> {
    const found = await this.collection
      .find(
        { org: organisationId, crm_ids: crmId, _id: { $gte: callIdFloor(sinceMs), ...before(beforeId) } },
        { projection: { _id: 1 } },
      )
      .toArray();
    return [...new Set(found.map(({ _id }) => callIdOf(_id)))];
  }

  /** The UTC days of a lead's predictions, by their numbers (see utc-day.ts). */
  async daysOf(organisationId: string, crmId: string, beforeId?: string): Promise<number[]> {
    const found = await this.collection
      .find(ofLead(organisationId, crmId, beforeId), { projection: { _id: 0, at: 1 } })
      .toArray();
    return [...new Set(found.map(({ at }) => dayNumber(at.getTime())))];
  }

  /**
   * Takes a lead's id and fields out of its predictions, the one change that a prediction ever sees.
   * @param beforeId leaves alone what calls of this id and greater ones have recorded
   * @returns whether there were any
   */
  async erase(organisationId: string, crmId: string, beforeId?: string): Promise<boolean> {
    const lead = ofLead(organisationId, crmId, beforeId);
    const erased = await this.collection.updateMany(lead, erasure(crmId), {
      writeConcern: { w: 'majority' },
    });
    return erased.matchedCount > 0;
  }
}

const before = (id: string | undefined) => (id === undefined ? {} : { $lt: id });

const ofLead = (org: string, crmId: string, beforeId: string | undefined) => ({
  ...{ org, crm_ids: crmId },
  ...(beforeId === undefined ? {} : { _id: before(beforeId) }),
});

/** A lead's predictions in one slice, newest first. */
function scoresOf(slice: Omit<PredictionSlice, 'fields' | 'org'>, crmId: string): PastScore[] {
  const { _id, model, version, at } = slice;
  const found: PastScore[] = [];
  for (let index = slice.crm_ids.length - 1; index >= 0; index -= 1) {
    if (slice.crm_ids[index] !== crmId) continue;
    found.push({
      id: predictionId(callIdOf(_id), rowOf(_id) + index),
      ...{ model, version, at },
      score: slice.scores[index] ?? 0,
      likelihood: slice.likelihoods[index] ?? 0,
    });
  }
  return found;
}
