import type { Collection, Db } from 'mongodb';
import { callIdFloor } from '../identifiers.js';
import { dayNumber } from '../utc-day.js';
import type { WriteOptions } from './connect.js';
import { inTime } from './in-time.js';

/**
 * One document of `predictions`: one scored record. Append only; `_id` is the call id and the row (`<call id>.0007`), so
 * the order of `_id` is the order of predictions. A deleted score loses `crm_id` and `fields`, nothing else.
 */
export interface Prediction {
  readonly _id: string;
  readonly org: string;
  /** Absent when the record came without one. */
  readonly crm_id?: string;
  readonly model: string;
  readonly version: string;
  readonly score: number;
  /** Conversion likelihood in ten-thousandths. */
  readonly likelihood: number;
  /** 0-4: scores 0-19, 20-39, 40-59, 60-79, 80-100. */
  readonly band: number;
  readonly at: Date;
  /** The cells that the record was scored from, by slot of (model, version), as JSON; see known-fields.ts. */
  readonly fields?: string;
}

/** The newest predictions of some crm_ids, column by column. */
export interface NewestPredictions {
  readonly crmIds: readonly string[];
  readonly ids: readonly string[];
  readonly scores: readonly number[];
  readonly versions: readonly string[];
  /** Only when asked for. */
  readonly fields?: readonly string[];
}

/**
 * The index by which the newest prediction of a lead is found in one step, however long its history is. It holds what a
 * look-up asks for, so that no document need be fetched.
 */
export const leadIndex = { org: 1, crm_id: 1, model: 1, _id: -1, score: 1, version: 1 } as const;

/** The validation band of a score. */
export const bandOf = (score: number): number => Math.min(4, Math.floor(score / 20));

/** The `_id` of the prediction of one row of a call. */
export const predictionId = (callId: string, row: number): string =>
  `${callId}.${String(row).padStart(4, '0')}`;

const callIdOf = (id: string): string => id.slice(0, id.indexOf('.'));

const nothingFound: NewestPredictions = { crmIds: [], ids: [], scores: [], versions: [] };

/** Scored records, and the newest one of each lead. */
export class PredictionStore {
  private readonly collection: Collection<Prediction>;

  constructor(private readonly database: Db) {
    this.collection = database.collection<Prediction>('predictions');
  }

  /**
   * Creates the collection, clustered by `_id` (one B-tree less to write: a fifth of the server's work on an insert),
   * and the index of leads.
   */
  async prepare(): Promise<void> {
    const exists = await this.database.listCollections({ name: 'predictions' }).hasNext();
    if (!exists) await createClustered(this.database);
    await this.collection.createIndex(leadIndex, { partialFilterExpression: { crm_id: { $exists: true } } });
  }

  /**
   * Writes predictions inside a transaction. A plain insert command: the driver's insertMany first works out the size
   * of each document, which costs as much again.
   */
  async insert(predictions: readonly Prediction[], options: WriteOptions): Promise<void> {
    if (predictions.length === 0) return;
    await this.database.command({ insert: 'predictions', documents: predictions, ordered: false }, options);
  }

  /** Takes back what one call wrote. */
  async removeCall(callId: string, options: WriteOptions): Promise<void> {
    // The slash comes right after the full stop: the range holds the call's rows and nothing else.
    const range = { $gt: `${callId}.`, $lt: `${callId}/` };
    await this.collection.deleteMany({ _id: range }, options);
  }

  /** Whether any prediction's `_id` is smaller than a text. */
  async hasBefore(id: string): Promise<boolean> {
    return (await this.collection.findOne({ _id: { $lt: id } }, { projection: { _id: 1 } })) !== null;
  }

  /**
   * Removes the oldest predictions, in one run of the clustered key.
   * @param which.beforeId only those whose `_id` is smaller
   * @returns how many there were
   */
  async removeOldest(which: { readonly beforeId: string; readonly most: number }): Promise<number> {
    const [last] = await this.collection
      .find({ _id: { $lt: which.beforeId } }, { projection: { _id: 1 } })
      .sort({ _id: 1 })
      .skip(which.most - 1)
      .limit(1)
      .toArray();
    const range = last === undefined ? { $lt: which.beforeId } : { $lte: last._id };
    return (await this.collection.deleteMany({ _id: range })).deletedCount;
  }

  /**
   * The newest prediction of each lead under one model, for the leads that have any.
   * One document comes back, with an array a column: decoding a thousand small documents costs four times as much.
   */
  async newest(query: {
    readonly organisationId: string;
    readonly modelId: string;
    readonly crmIds: readonly string[];
    readonly withFields: boolean;
    readonly timeoutMs: number;
  }): Promise<NewestPredictions> {
    if (query.crmIds.length === 0) return nothingFound;
    const first = { id: { $first: '$_id' }, score: { $first: '$score' }, version: { $first: '$version' } };
    const columns = { crmIds: { $push: '$_id' }, ids: { $push: '$id' }, scores: { $push: '$score' } };
    const found = await inTime(query.timeoutMs, (signal) =>
      this.collection
        .aggregate<NewestPredictions>(
          [
            { $match: { org: query.organisationId, model: query.modelId, crm_id: { $in: query.crmIds } } },
            { $sort: { crm_id: 1, model: 1, _id: -1 } },
            {
              $group: {
                _id: '$crm_id',
                ...first,
                ...(query.withFields ? { fields: { $first: '$fields' } } : {}),
              },
            },
            {
              $group: {
                _id: null,
                ...columns,
                versions: { $push: '$version' },
                ...(query.withFields ? { fields: { $push: '$fields' } } : {}),
              },
            },
          ],
          { signal },
        )
        .toArray(),
    );
    return found[0] ?? nothingFound;
  }

  /**
   * The predictions of one lead, newest first.
   * @param query.before `_id` that the page comes after
   */
  history(query: {
    readonly organisationId: string;
    readonly crmId: string;
    readonly modelId: string | undefined;
    readonly before: string | undefined;
    readonly limit: number;
  }): Promise<Pick<Prediction, '_id' | 'model' | 'version' | 'score' | 'likelihood' | 'at'>[]> {
    return this.collection
      .find(
        {
          org: query.organisationId,
          crm_id: query.crmId,
          ...(query.modelId === undefined ? {} : { model: query.modelId }),
          ...(query.before === undefined ? {} : { _id: { $lt: query.before } }),
        },
        { projection: { model: 1, version: 1, score: 1, likelihood: 1, at: 1 } },
      )
      .sort({ _id: -1 })
      .limit(query.limit)
      .toArray();
  }

  /** Whether there is any prediction of a lead. */
  async knows(organisationId: string, crmId: string): Promise<boolean> {
    return (
      (await this.collection.findOne({ org: organisationId, crm_id: crmId }, { projection: { _id: 1 } })) !==
      null
    );
  }

  /** The calls since an instant that scored a lead. */
  async callsOf(organisationId: string, crmId: string, sinceMs: number): Promise<string[]> {
    const found = await this.collection
      .find(
        { org: organisationId, crm_id: crmId, _id: { $gte: callIdFloor(sinceMs) } },
        { projection: { _id: 1 } },
      )
      .toArray();
    return [...new Set(found.map(({ _id }) => callIdOf(_id)))];
  }

  /** The UTC days of a lead's predictions, by their numbers (see utc-day.ts). */
  async daysOf(organisationId: string, crmId: string): Promise<number[]> {
    const found = await this.collection
      .find({ org: organisationId, crm_id: crmId }, { projection: { _id: 0, at: 1 } })
      .toArray();
    return [...new Set(found.map(({ at }) => dayNumber(at.getTime())))];
  }

  /**
   * Takes a lead's id and fields out of its predictions, the one change that a prediction ever sees.
   * @returns whether there were any
   */
  async erase(organisationId: string, crmId: string): Promise<boolean> {
    const erased = await this.collection.updateMany(
      { org: organisationId, crm_id: crmId },
      { $unset: { crm_id: true, fields: true } },
      { writeConcern: { w: 'majority' } },
    );
    return erased.matchedCount > 0;
  }
}

async function createClustered(database: Db): Promise<void> {
  try {
    await database.createCollection('predictions', { clusteredIndex: { key: { _id: 1 }, unique: true } });
  } catch (error) {
    const alreadyThere = 48;
    if (!(error instanceof Error && 'code' in error && error.code === alreadyThere)) throw error;
  }
}
