import {
  bandOf,
  callIdOf,
  type PredictionSlice,
  predictionId,
  rowOf,
} from '../../shared/store/prediction-slice.js';

/** One prediction by itself, as tests like to look at it. */
export interface PredictionRow {
  readonly _id: string;
  readonly org: string;
  readonly model: string;
  readonly version: string;
  readonly at: Date;
  readonly score: number;
  readonly likelihood: number;
  readonly band: number;
  /** Absent when the record came without one, or was erased. */
  readonly crm_id?: string;
  /** Absent when the record was erased. */
  readonly fields?: string;
}

/**
 * The predictions of a stored document, one by one.
 * @throws Error when its columns are not equally long
 */
export function predictionRows(slice: PredictionSlice): PredictionRow[] {
  const { _id, org, model, version, at } = slice;
  const lengths = [slice.crm_ids, slice.scores, slice.likelihoods, slice.fields].map(({ length }) => length);
  if (new Set(lengths).size !== 1) throw new Error(`the columns of ${_id} have ${lengths} entries`);
  return slice.scores.map((score, index) => {
    const [crmId, fields] = [slice.crm_ids[index], slice.fields[index]];
    return {
      _id: predictionId(callIdOf(_id), rowOf(_id) + index),
      ...{ org, model, version, at, score },
      likelihood: slice.likelihoods[index] ?? 0,
      band: bandOf(score),
      ...(typeof crmId === 'string' ? { crm_id: crmId } : {}),
      ...(typeof fields === 'string' ? { fields } : {}),
    };
  });
}
