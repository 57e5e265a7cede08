import { type ExactExplainer, type FieldColumns, type InputRows, logOdds, scaleToLogOdds } from './contributions.js';
import type { Sum } from './graph/sum.js';

export interface LinearModel extends FieldColumns {
  /** A weighted sum of input columns; log-odds, or a probability when `isProbability`. */
  readonly sum: Sum;
  readonly isProbability: boolean;
  /** The mean of each input column over the training rows, or a reference row. */
  readonly means: ArrayLike<number>;
}

/** Exact Shapley values of a linear model with independent columns: weight * (x - mean). */
export function explainLinear(model: LinearModel): ExactExplainer {
  const { sum, isProbability, means, width, fields, fieldOfColumn } = model;
  const terms = Array.from(sum.weights, ([column, weight]) => ({
    column,
    weight,
    mean: means[column] ?? 0,
    field: fieldOfColumn[column] ?? 0,
  }));
  const expected = terms.reduce((total, { weight, mean }) => total + weight * mean, sum.constant);
  return {
    method: 'linear',
    base: isProbability ? logOdds(expected) : expected,
    contributions: async ({ rows, count }: InputRows) => {
      const out = new Float64Array(count * fields);
      for (let record = 0; record < count; record += 1) {
        for (const { column, weight, mean, field } of terms) {
          const at = record * fields + field;
          out[at] = (out[at] ?? 0) + weight * ((rows[record * width + column] ?? Number.NaN) - mean);
        }
      }
      if (isProbability) scaleToLogOdds(out, { base: expected, fields });
      return out;
    },
  };
}
