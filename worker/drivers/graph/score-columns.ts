import type { OnnxNode } from '../../../shared/bundle/onnx/onnx-model.js';
import type { TreeEnsemble, TreeInput } from '../trees/tree-ensemble.js';
import { readTreeEnsemble, readTreeEnsemble5 } from './read-tree-ensemble.js';
import {
  binaryColumns,
  columnsOfScores,
  dotProduct,
  NotASum,
  postTransformOf,
  type Sum,
  type SumColumn,
  weightedSum,
} from './sum.js';
import { Attributes } from './tensor-values.js';

/** The input of a tree operator. */
export interface TreeOperand {
  readonly inputs: readonly TreeInput[];
  /** Index of the operator's first node among the tree nodes of the graph. */
  readonly firstCover: number;
}

/**
 * The scores of a `TreeEnsembleClassifier`, its second output, as ONNX Runtime computes them. Two labels that share the
 * class id 0 have one score, which gives both columns.
 * @throws NotASum if the scores are not sums
 */
export function classifierColumns(node: OnnxNode, operand: TreeOperand): SumColumn[] {
  const attributes = new Attributes(node);
  const ensemble = readTreeEnsemble(attributes, { ...operand, weightsOf: 'class' });
  const labels = attributes.integers('classlabels_int64s').length + attributes.texts('classlabels_strings').length;
  const base = attributes.numbers('base_values') ?? new Float64Array(0);
  const post = postTransformOf(attributes.text('post_transform', 'NONE'));
  const classes = new Set(ensemble.leafWeights.map(({ target }) => target));
  const isBinary = labels === 2 && classes.size === 1;
  if (isBinary && classes.has(0) && base.length <= 1) {
    const isPositive = ensemble.leafWeights.every(({ weight }) => weight >= 0);
    return binaryColumns(sumOf(ensemble, { target: 0, factor: 1, base: base[0] ?? 0 }), { post, isPositive });
  }
  // The standard leaves this case open, ONNX Runtime has its own rule, and no known converter writes it.
  if (labels === 2 && base.length > 0) throw new NotASum('two classes with base values of their own');
  const scores = Array.from({ length: labels }, (_, target) =>
    sumOf(ensemble, { target, factor: 1, base: base[target] ?? 0 }),
  );
  return columnsOfScores(scores, post);
}

/**
 * The output of a `TreeEnsembleRegressor`.
 * @throws NotASum if it is not a sum
 */
export function regressorColumns(node: OnnxNode, operand: TreeOperand): SumColumn[] {
  const attributes = new Attributes(node);
  const ensemble = readTreeEnsemble(attributes, { ...operand, weightsOf: 'target' });
  const base = attributes.numbers('base_values') ?? new Float64Array(0);
  const aggregate = attributes.text('aggregate_function', 'SUM');
  const factor = factorOf(aggregate, ensemble);
  const scores = Array.from({ length: Math.max(1, attributes.integer('n_targets', 1)) }, (_, target) =>
    sumOf(ensemble, { target, factor, base: base[target] ?? 0 }),
  );
  return columnsOfScores(scores, postTransformOf(attributes.text('post_transform', 'NONE')));
}

/** Both lists are indexed by the numbers of the standard. */
const postTransforms = ['NONE', 'SOFTMAX', 'LOGISTIC', 'SOFTMAX_ZERO', 'PROBIT'];
const aggregates = ['AVERAGE', 'SUM', 'MIN', 'MAX'];

/**
 * The output of a `TreeEnsemble` of ai.onnx.ml 5.
 * @throws NotASum if it is not a sum
 */
export function treeEnsembleColumns(node: OnnxNode, operand: TreeOperand): SumColumn[] {
  const attributes = new Attributes(node);
  const ensemble = readTreeEnsemble5(attributes, operand);
  const factor = factorOf(aggregates[attributes.integer('aggregate_function', 1)] ?? '', ensemble);
  const scores = Array.from({ length: Math.max(1, attributes.integer('n_targets', 1)) }, (_, target) =>
    sumOf(ensemble, { target, factor, base: 0 }),
  );
  return columnsOfScores(scores, postTransformOf(postTransforms[attributes.integer('post_transform', 0)] ?? ''));
}

function factorOf(aggregate: string, { roots }: TreeEnsemble): number {
  if (aggregate === 'SUM') return 1;
  if (aggregate === 'AVERAGE') return 1 / roots.length;
  throw new NotASum(`the trees are combined by ${aggregate}`);
}

function sumOf(
  ensemble: TreeEnsemble,
  { target, factor, base }: { readonly target: number; readonly factor: number; readonly base: number },
): Sum {
  const one: Sum = { constant: 0, weights: new Map(), trees: [{ ensemble, target, factor }] };
  return weightedSum([{ sum: one, factor: 1 }], base);
}

/**
 * The scores of a `LinearClassifier`, its second output. A binary classifier has the two rows [-w, w]. After LOGISTIC
 * the second column is the logistic function of w alone; after SOFTMAX, of the difference of the two rows.
 * @throws NotASum if the scores are not sums
 */
export function linearClassifierColumns(node: OnnxNode, input: readonly SumColumn[]): SumColumn[] {
  const attributes = new Attributes(node);
  const scores = linearScores(attributes, input);
  const post = postTransformOf(attributes.text('post_transform', 'NONE'));
  const labels = attributes.integers('classlabels_ints').length + attributes.texts('classlabels_strings').length;
  const [only, ...further] = scores;
  if (only !== undefined && further.length === 0 && labels === 2)
    return binaryColumns(only, { post, isPositive: true });
  return columnsOfScores(scores, post);
}

/**
 * The output of a `LinearRegressor`.
 * @throws NotASum if it is not a sum
 */
export function linearRegressorColumns(node: OnnxNode, input: readonly SumColumn[]): SumColumn[] {
  const attributes = new Attributes(node);
  return columnsOfScores(linearScores(attributes, input), postTransformOf(attributes.text('post_transform', 'NONE')));
}

function linearScores(attributes: Attributes, input: readonly SumColumn[]): Sum[] {
  const coefficients = attributes.numbers('coefficients') ?? new Float64Array(0);
  const intercepts = attributes.numbers('intercepts') ?? new Float64Array(0);
  const rows = coefficients.length / input.length;
  if (!Number.isInteger(rows) || rows === 0) throw new NotASum('the coefficients do not match the input columns');
  return Array.from({ length: rows }, (_, row) =>
    dotProduct(input, (column) => coefficients[row * input.length + column] ?? 0, intercepts[row] ?? 0),
  );
}
