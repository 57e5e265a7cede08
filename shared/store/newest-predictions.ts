import type { Document } from 'mongodb';
import { callsCollection } from './calls-collection.js';
import { callIdOf, type PredictionSlice, predictionId, rowOf } from './prediction-slice.js';

/** The latest prediction of a lead under one model. */
export interface NewestPrediction {
  readonly crmId: string;
  /** Prediction id, see `predictionId`. */
  readonly id: string;
  readonly score: number;
}

export type NewestSlice = Pick<PredictionSlice, '_id' | 'crm_ids' | 'scores'>;

/** Pipeline that finds the latest slice of each lead with one index seek a lead. */
export function newestPipeline(
  under: { readonly org: string; readonly model: string },
  crmIds: readonly string[],
): Document[] {
  const latest = [
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
        pipeline: latest,
        as: 'latest',
      },
    },
    { $unwind: '$latest' },
  ];
}

/** If a lead occurs in a call twice, the later row is its latest prediction. */
export function newestOf(crmId: string, { _id, crm_ids: crmIds, scores }: NewestSlice): NewestPrediction {
  const index = crmIds.lastIndexOf(crmId);
  return { crmId, id: predictionId(callIdOf(_id), rowOf(_id) + index), score: scores[index] ?? 0 };
}
