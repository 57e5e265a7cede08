import type { OnnxNode } from '../../shared/bundle/onnx-model.js';
import { NotASum } from './not-a-sum.js';
import { binaryColumns, columnsOfScores, postTransformOf } from './post-transform.js';
import { readTreeEnsemble } from './read-tree-ensemble.js';
import { readTreeEnsemble5 } from './read-tree-ensemble-5.js';
import { type Sum, type SumColumn, weightedSum } from './sum.js';
import { Attributes } from './tensor-values.js';
import type { TreeEnsemble, TreeInput } from './tree-ensemble.js';

/** What the operators of trees read. */
export interface TreeOperand {
  readonly inputs: readonly TreeInput[];
  /** Where the operator's nodes begin among the tree nodes of the graph. */
  readonly firstCover: number;
}

/**
 * The scores of a `TreeEnsembleClassifier` as ONNX Runtime computes them, its second output. When two labels share one
 * class id of 0, there is one score, and the columns are made from it.
 * @throws NotASum when they are not sums
 */
export function classifierColumns(node: OnnxNode, operand: TreeOperand): SumColumn[] {
  const attributes = new Attributes(node);
  const ensemble = readTreeEnsemble(attributes, { ...operand, weightsOf: 'class' });
  const labels =
    attributes.integers('classlabels_int64s').length + attributes.texts('classlabels_strings').length;
  const base = attributes.numbers('base_values') ?? new Float64Array(0);
  const post = postTransformOf(attributes.text('post_transform', 'NONE'));
  const classes = new Set(ensemble.leafWeights.map(({ target }) => target));
  const isBinary = labels === 2 && classes.size === 1;
  if (isBinary && classes.has(0) && base.length <= 1) {
    const isPositive = ensemble.leafWeights.every(({ weight }) => weight >= 0);
    return binaryColumns(sumOf(ensemble, { target: 0, factor: 1, base: base[0] ?? 0 }), { post, isPositive });
  }
  // With two labels the runtime does what the standard leaves open; nobody writes such files.
  if (labels === 2 && base.length > 0) throw new NotASum('two classes with base values of their own');
  const scores = Array.from({ length: labels }, (_, target) =>
    sumOf(ensemble, { target, factor: 1, base: base[target] ?? 0 }),
  );
  return columnsOfScores(scores, post);
}

/**
 * The output of a `TreeEnsembleRegressor`.
 * @throws NotASum when it is not a sum
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

/** By the numbers of the standard. */
const POST_TRANSFORMS = ['NONE', 'SOFTMAX', 'LOGISTIC', 'SOFTMAX_ZERO', 'PROBIT'];
const AGGREGATES = ['AVERAGE', 'SUM', 'MIN', 'MAX'];

/**
 * The output of a `TreeEnsemble` of ai.onnx.ml 5.
 * @throws NotASum when it is not a sum
 */
export function treeEnsembleColumns(node: OnnxNode, operand: TreeOperand): SumColumn[] {
  const attributes = new Attributes(node);
  const ensemble = readTreeEnsemble5(attributes, operand);
  const factor = factorOf(AGGREGATES[attributes.integer('aggregate_function', 1)] ?? '', ensemble);
  const scores = Array.from({ length: Math.max(1, attributes.integer('n_targets', 1)) }, (_, target) =>
    sumOf(ensemble, { target, factor, base: 0 }),
  );
  return columnsOfScores(
    scores,
    postTransformOf(POST_TRANSFORMS[attributes.integer('post_transform', 0)] ?? ''),
  );
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
