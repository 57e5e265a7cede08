import type { OnnxNode } from '../../shared/bundle/onnx-model.js';
import { NotASum } from './not-a-sum.js';
import { binaryColumns, columnsOfScores, postTransformOf } from './post-transform.js';
import { type Sum, type SumColumn, weightedSum } from './sum.js';
import { Attributes } from './tensor-values.js';

/**
 * The scores of a `LinearClassifier`, its second output. A binary one holds the two rows [-w, w]: after LOGISTIC the
 * second column is the logistic function of w alone, after SOFTMAX of the difference of the two.
 * @throws NotASum when they are not sums
 */
export function linearClassifierColumns(node: OnnxNode, input: readonly SumColumn[]): SumColumn[] {
  const attributes = new Attributes(node);
  const scores = linearScores(attributes, input);
  const post = postTransformOf(attributes.text('post_transform', 'NONE'));
  const labels =
    attributes.integers('classlabels_ints').length + attributes.texts('classlabels_strings').length;
  const [only, ...further] = scores;
  if (only !== undefined && further.length === 0 && labels === 2)
    return binaryColumns(only, { post, isPositive: true });
  return columnsOfScores(scores, post);
}

/**
 * The output of a `LinearRegressor`.
 * @throws NotASum when it is not a sum
 */
export function linearRegressorColumns(node: OnnxNode, input: readonly SumColumn[]): SumColumn[] {
  const attributes = new Attributes(node);
  return columnsOfScores(
    linearScores(attributes, input),
    postTransformOf(attributes.text('post_transform', 'NONE')),
  );
}

function linearScores(attributes: Attributes, input: readonly SumColumn[]): Sum[] {
  const coefficients = attributes.numbers('coefficients') ?? new Float64Array(0);
  const intercepts = attributes.numbers('intercepts') ?? new Float64Array(0);
  const rows = coefficients.length / input.length;
  if (!Number.isInteger(rows) || rows === 0)
    throw new NotASum('the coefficients do not match the input columns');
  return Array.from({ length: rows }, (_, row) =>
    dotProduct(input, (column) => coefficients[row * input.length + column] ?? 0, intercepts[row] ?? 0),
  );
}

/**
 * constant + Σ weight * column.
 * @throws NotASum when a column is a logistic function
 */
export function dotProduct(
  columns: readonly SumColumn[],
  weightOf: (column: number) => number,
  constant: number,
): Sum {
  const terms = columns.map(({ sum, isLogistic }, column) => {
    if (isLogistic) throw new NotASum('a weighted sum of probabilities');
    return { sum, factor: weightOf(column) };
  });
  return weightedSum(terms, constant);
}
