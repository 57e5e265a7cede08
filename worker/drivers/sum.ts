import type { TreeEnsemble } from './tree-ensemble.js';

/** A number that a model computes as a sum: constant + weights * input columns + factors * what trees give. */
export interface Sum {
  readonly constant: number;
  /** By input column of the model. */
  readonly weights: ReadonlyMap<number, number>;
  readonly trees: readonly TreeShare[];
}

/** One target of an ensemble, as a term of a sum. */
export interface TreeShare {
  readonly ensemble: TreeEnsemble;
  readonly target: number;
  readonly factor: number;
}

/** One column of a tensor in the graph: a sum, or the logistic function of one. */
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
export function weightedSum(
  terms: Iterable<{ readonly sum: Sum; readonly factor: number }>,
  offset: number,
): Sum {
  let constant = offset;
  const weights = new Map<number, number>();
  const trees: TreeShare[] = [];
  for (const { sum, factor } of terms) {
    if (factor === 0) continue;
    constant += factor * sum.constant;
    for (const [column, weight] of sum.weights)
      weights.set(column, (weights.get(column) ?? 0) + factor * weight);
    for (const share of sum.trees) trees.push({ ...share, factor: factor * share.factor });
  }
  return { constant, weights, trees };
}

/** Two logistic columns that add up to 1, whatever the input. */
export function areComplementary(one: SumColumn, other: SumColumn): boolean {
  if (!one.isLogistic || !other.isLogistic) return false;
  const both = weightedSum(
    [
      { sum: one.sum, factor: 1 },
      { sum: other.sum, factor: 1 },
    ],
    0,
  );
  if (Math.abs(both.constant) > 1e-6) return false;
  for (const weight of both.weights.values()) if (Math.abs(weight) > 1e-6) return false;
  return treesCancel(both.trees);
}

function treesCancel(shares: readonly TreeShare[]): boolean {
  const factors = new Map<TreeEnsemble, Map<number, number>>();
  for (const { ensemble, target, factor } of shares) {
    const ofEnsemble = factors.get(ensemble) ?? new Map<number, number>();
    ofEnsemble.set(target, (ofEnsemble.get(target) ?? 0) + factor);
    factors.set(ensemble, ofEnsemble);
  }
  return [...factors.values()].every((byTarget) => [...byTarget.values()].every((factor) => factor === 0));
}
