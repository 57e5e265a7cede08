import type { Document } from 'mongodb';
import { callsCollection } from './calls-collection.js';
import { callIdOf, type PredictionSlice, predictionId, rowOf } from './prediction-slice.js';

/** The newest prediction of a lead under one model. */
export interface NewestPrediction {
  readonly crmId: string;
  /** The id of the prediction: its call and its row. */
  readonly id: string;
  readonly score: number;
}

export type NewestSlice = Pick<PredictionSlice, '_id' | 'crm_ids' | 'scores'>;

/** For each lead, a look into the index for its newest slice. */
export function newestPipeline(
  under: { readonly org: string; readonly model: string },
  crmIds: readonly string[],
): Document[] {
  const newest = [
    { $match: under },
    { $sort: { _id: -1 } },
    { $limit: 1 },
    { $project: { crm_ids: 1, scores: 1 } },
  ];
  return [
    { $documents: crmIds.map((crmId) => ({ crmId: { $literal: crmId } })) },
    {
      $lookup: {
        from: callsCollection,
        localField: 'crmId',
        foreignField: 'crm_ids',
        pipeline: newest,
        as: 'newest',
      },
    },
    { $unwind: '$newest' },
  ];
}

/** A lead that is in a call twice has its newest prediction in the later row. */
export function newestOf(crmId: string, { _id, crm_ids: crmIds, scores }: NewestSlice): NewestPrediction {
  const index = crmIds.lastIndexOf(crmId);
  return { crmId, id: predictionId(callIdOf(_id), rowOf(_id) + index), score: scores[index] ?? 0 };
}
