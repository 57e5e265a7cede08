import type { TreeEnsemble } from '../trees/tree-ensemble.js';

/** A number that a model computes as constant + Σ weight * input column + Σ factor * tree output. */
export interface Sum {
  readonly constant: number;
  /** Indexed by the model's input column. */
  readonly weights: ReadonlyMap<number, number>;
  readonly trees: readonly TreeShare[];
}

/** One target of a tree ensemble as a term of a sum. */
interface TreeShare {
  readonly ensemble: TreeEnsemble;
  readonly target: number;
  readonly factor: number;
}

/** One column of a tensor in the graph: a sum, or the logistic function of a sum. */
export interface SumColumn {
  readonly sum: Sum;
  readonly isLogistic: boolean;
}

export const columnSum = (column: number): Sum => ({
  constant: 0,
  weights: new Map([[column, 1]]),
  trees: [],
});

/** `factor` * sum + `offset`. */
export function scaled(sum: Sum, factor: number, offset = 0): Sum {
  return {
    constant: factor * sum.constant + offset,
    weights: new Map(Array.from(sum.weights, ([column, weight]) => [column, factor * weight])),
    trees: sum.trees.map((share) => ({ ...share, factor: factor * share.factor })),
  };
}

/** constant + Σ factor * sum over the terms. */
export function weightedSum(terms: Iterable<{ readonly sum: Sum; readonly factor: number }>, offset: number): Sum {
  let constant = offset;
  const weights = new Map<number, number>();
  const trees: TreeShare[] = [];
  for (const { sum, factor } of terms) {
    if (factor === 0) continue;
    constant += factor * sum.constant;
    for (const [column, weight] of sum.weights) weights.set(column, (weights.get(column) ?? 0) + factor * weight);
    for (const share of sum.trees) trees.push({ ...share, factor: factor * share.factor });
  }
  return { constant, weights, trees };
}

/**
 * constant + Σ weight * column.
 * @throws NotASum if a column is a logistic function
 */
export function dotProduct(columns: readonly SumColumn[], weightOf: (column: number) => number, constant: number): Sum {
  const terms = columns.map(({ sum, isLogistic }, column) => {
    if (isLogistic) throw new NotASum('a weighted sum of probabilities');
    return { sum, factor: weightOf(column) };
  });
  return weightedSum(terms, constant);
}

/** one + factor * other. */
export const combined = (one: Sum, factor: number, other: Sum): Sum =>
  weightedSum(
    [
      { sum: one, factor: 1 },
      { sum: other, factor },
    ],
    0,
  );

/** Whether two logistic columns add up to 1 for every input. */
export function areComplementary(one: SumColumn, other: SumColumn): boolean {
  if (!one.isLogistic || !other.isLogistic) return false;
  const both = combined(one.sum, 1, other.sum);
  if (Math.abs(both.constant) > 1e-6) return false;
  for (const weight of both.weights.values()) if (Math.abs(weight) > 1e-6) return false;
  return treesCancel(both.trees);
}

const treesCancel = (shares: readonly TreeShare[]): boolean =>
  shares.every(({ ensemble, target }) => {
    const same = shares.filter((share) => share.ensemble === ensemble && share.target === target);
    return same.reduce((sum, { factor }) => sum + factor, 0) === 0;
  });

/** The model is not a readable sum of trees or of weighted columns; the message says why. */
export class NotASum extends Error {
  override name = 'NotASum';
}

/** A stored tensor: its shape and its values in row-major order. */
export interface StoredValues {
  readonly dims: readonly number[];
  readonly values: Float64Array;
}

/** The inputs of an operator. */
export interface Operands {
  /**
   * The columns of the input at a position.
   * @throws NotASum if they are not sums
   */
  columns(position: number): readonly SumColumn[];
  /** The tensor at a position if the file stores it; undefined if it is computed or absent. */
  stored(position: number): StoredValues | undefined;
}

export type PostTransform = 'NONE' | 'LOGISTIC' | 'SOFTMAX';

/**
 * @param name as in the standard
 * @throws NotASum for a post-transform whose log-odds are not a sum
 */
export function postTransformOf(name: string): PostTransform {
  if (name === 'NONE' || name === 'LOGISTIC' || name === 'SOFTMAX') return name;
  throw new NotASum(`the post-transform ${name} is not the logistic function of a sum`);
}

const plain = (sum: Sum): SumColumn => ({ sum, isLogistic: false });
const logistic = (sum: Sum): SumColumn => ({ sum, isLogistic: true });

/**
 * The two columns that ONNX Runtime derives from a classifier's only score s:
 * - after LOGISTIC, 1/(1+e^s) and 1/(1+e^-s);
 * - otherwise 1-s and s if no weight is negative, since s then is a probability;
 * - otherwise -s and s.
 */
export function binaryColumns(
  score: Sum,
  { post, isPositive }: { readonly post: PostTransform; readonly isPositive: boolean },
): SumColumn[] {
  if (post === 'LOGISTIC') return [logistic(scaled(score, -1)), logistic(score)];
  return [plain(scaled(score, -1, isPositive ? 1 : 0)), plain(score)];
}

/**
 * The columns of several scores after a post-transform. Like ONNX Runtime, leaves a single score unchanged.
 * @throws NotASum for the softmax of more than two scores
 */
export function columnsOfScores(scores: readonly Sum[], post: PostTransform): SumColumn[] {
  if (scores.length === 1 || post === 'NONE') return scores.map(plain);
  if (post === 'LOGISTIC') return scores.map(logistic);
  return softmaxColumns(scores);
}

/**
 * The softmax of two scores is the logistic function of their difference.
 * @throws NotASum for any other number of scores
 */
export function softmaxColumns(scores: readonly Sum[]): SumColumn[] {
  const [first, second] = scores;
  if (first === undefined || second === undefined || scores.length !== 2)
    throw new NotASum(`the softmax of ${scores.length} scores is not the logistic function of a sum`);
  const difference = combined(second, -1, first);
  return [logistic(scaled(difference, -1)), logistic(difference)];
}
