import { type Collection, type Db, type Document, MongoServerError } from 'mongodb';
import { withMongoTimeout } from '../connection/mongo-errors.js';
import {
  type LatestPrediction,
  type LatestSlice,
  latestOf,
  latestPipeline,
  readStoredRecords,
  type StoredRecord,
} from './lead-lookup.js';
import {
  callIdOf,
  callsCollection,
  type PredictionSlice,
  predictionId,
  rowOf,
  sliceColumns,
} from './prediction-slice.js';

/** One prediction in the history of a lead. */
export interface PastScore {
  readonly id: string;
  readonly model: string;
  readonly version: string;
  readonly score: number;
  /** In ten-thousandths. */
  readonly likelihood: number;
  readonly at: Date;
}

/** Index for the predictions of a lead, latest first. */
export const leadIndex = { org: 1, crm_ids: 1, model: 1, _id: -1 } as const;
/**
 * Leads arrive in random order, so each index entry dirties another page. Small pages halve the cost of writing them
 * back once the index exceeds the dirty limit of WiredTiger (a twentieth of its cache).
 */
const smallPages = { storageEngine: { wiredTiger: { configString: 'leaf_page_max=4KB' } } };

/** The predictions of leads. */
export class PredictionStore {
  private readonly collection: Collection<PredictionSlice>;

  constructor(private readonly database: Db) {
    this.collection = database.collection<PredictionSlice>(callsCollection);
  }

  /** Creates the index of leads; an existing one stays unchanged. */
  async prepare(): Promise<void> {
    await this.collection.createIndex(leadIndex, smallPages).catch(async (error: unknown) => {
      if (!(error instanceof MongoServerError)) throw error;
      // The index exists with the default page size, or the storage engine does not know the setting.
      await this.collection.createIndex(leadIndex);
    });
  }

  /** Ids of the oldest slices from one id up to another, in the order of the clustered key. */
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

  /** Removes slices; the ledger rows of their calls stay. */
  async remove(ids: readonly string[]): Promise<void> {
    const isFirst = (id: string): boolean => callIdOf(id) === id;
    const firsts = ids.filter(isFirst);
    const further = ids.filter((id) => !isFirst(id));
    if (firsts.length > 0) await this.collection.updateMany({ _id: { $in: firsts } }, { $unset: sliceColumns });
    if (further.length > 0) await this.collection.deleteMany({ _id: { $in: further } });
  }

  /**
   * The latest prediction of each lead under one model, without leads that have none. One index seek a lead (0.1 ms),
   * however long its history is. For leads that are not in the latest-scores cache.
   */
  async latest(query: {
    readonly organisationId: string;
    readonly modelId: string;
    readonly crmIds: readonly string[];
    readonly timeoutMs: number;
  }): Promise<LatestPrediction[]> {
    const { organisationId, modelId, crmIds, timeoutMs } = query;
    if (crmIds.length === 0) return [];
    const under = { org: organisationId, model: modelId };
    return await withMongoTimeout(timeoutMs, async (signal) => {
      // Most uncached leads are scored for the first time: one query then shows that none has a prediction.
      const any = await this.collection.findOne(
        { ...under, crm_ids: { $in: [...crmIds] } },
        { projection: { _id: 1 }, signal },
      );
      if (any === null) return [];
      const found = this.database.aggregate<{ readonly crmId: string; readonly latest: LatestSlice }>(
        latestPipeline(under, crmIds),
        { maxTimeMS: timeoutMs },
      );
      return (await found.toArray()).map(({ crmId, latest }) => latestOf(crmId, latest));
    });
  }

  /** See `readStoredRecords`. */
  storedRecords(ids: readonly string[], timeoutMs: number): Promise<Map<string, StoredRecord>> {
    return readStoredRecords(this.collection, ids, timeoutMs);
  }

  /**
   * One page of the predictions of a lead, latest first.
   * @param query.before id of the last prediction of the previous page
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
      // One slice more than predictions: of the first slice, the previous page may have shown every row.
      .limit(limit + 1);
    const found: PastScore[] = [];
    for await (const slice of slices) {
      for (const score of scoresOf(slice, crmId)) if (before === undefined || score.id < before) found.push(score);
    }
    return found.slice(0, limit);
  }

  /** Whether a lead has any prediction. */
  async knows(organisationId: string, crmId: string): Promise<boolean> {
    const found = await this.collection.findOne({ org: organisationId, crm_ids: crmId }, { projection: { _id: 1 } });
    return found !== null;
  }

  /**
   * Some of the slices that hold a lead, in no particular order.
   * @param lead.arrivedBy of calls that had arrived by then, by Redis's clock; of all calls without it
   */
  async slicesWith(lead: LeadSlices, most: number): Promise<Pick<PredictionSlice, '_id' | 'at'>[]> {
    const { organisationId, crmId, arrivedBy } = lead;
    return await this.collection
      .find({
        ...{ org: organisationId, crm_ids: crmId },
        // Documents of earlier releases do not say when their call had arrived: they are older.
        ...(arrivedBy === undefined ? {} : { arrived_at: { $not: { $gt: arrivedBy } } }),
      })
      .project<Pick<PredictionSlice, '_id' | 'at'>>({ at: 1 })
      .limit(most)
      .toArray();
  }

  /** Removes the id and fields of a lead from slices, the only change that a prediction ever undergoes. */
  async erase(crmId: string, sliceIds: readonly string[]): Promise<void> {
    await this.collection.updateMany({ _id: { $in: [...sliceIds] }, crm_ids: crmId }, erasure(crmId), {
      writeConcern: { w: 'majority' },
    });
  }
}

/** Selects the slices of a lead. */
export interface LeadSlices {
  readonly organisationId: string;
  readonly crmId: string;
  readonly arrivedBy?: Date | undefined;
}

/** The predictions of a lead in one slice, latest first. */
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

/** An update that sets the id and fields of a lead to null, in each of its rows. */
function erasure(crmId: string): Document[] {
  const isLead = (value: string): Document => ({ $eq: [value, { $literal: crmId }] });
  const rowIsLead = isLead('$$row.crm_id');
  const rows = {
    $map: {
      input: { $range: [0, { $size: '$crm_ids' }] },
      as: 'index',
      in: {
        crm_id: { $arrayElemAt: ['$crm_ids', '$$index'] },
        fields: { $arrayElemAt: ['$fields', '$$index'] },
      },
    },
  };
  const columnOf = (value: string): Document => ({
    $map: { input: rows, as: 'row', in: { $cond: [rowIsLead, null, value] } },
  });
  const leadRows = { $filter: { input: '$crm_ids', as: 'crmId', cond: isLead('$$crmId') } };
  return [
    {
      $set: {
        erased: { $add: ['$erased', { $size: leadRows }] },
        fields: columnOf('$$row.fields'),
        crm_ids: columnOf('$$row.crm_id'),
      },
    },
  ];
}
