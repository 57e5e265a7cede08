import { NotASum } from '../graph/sum.js';
import { leafCode, type NodeDecision, nodeDecision, type TreeEnsemble } from './tree-ensemble.js';

export const farSide = 0;
export const nearSide = 1;
export type Side = typeof farSide | typeof nearSide;

/** A split of an unfolded tree. It has one parent: a shared subtree is repeated for each path to it. */
export interface Split {
  readonly decision: NodeDecision;
  /** The model's input column that it tests. */
  readonly column: number;
  /** Index of the parent (-1 for the root), and the side of the parent that leads here. */
  readonly parent: number;
  readonly side: Side;
  /** The nearest split above on the same column (-1: none), and the side taken there. */
  readonly ancestor: number;
  readonly ancestorSide: Side;
  /** Product of the shares of the edges above on the same column. */
  readonly before: number;
  /** Share of the training rows that goes to each side. */
  readonly shares: readonly [far: number, near: number];
  /** Value of the leaf on each side; undefined if the child is a split. */
  readonly leaves: [far: number | undefined, near: number | undefined];
}

/** One unfolded tree. Parents precede their children. */
export interface SplitTree {
  readonly splits: readonly Split[];
  /** Mean of the leaf values, weighted by their shares. */
  readonly expected: number;
  /** Largest number of distinct columns on one path. */
  readonly maxColumns: number;
}

/** Remaining number of splits for all trees of a model. */
export interface SplitBudget {
  left: number;
}

/** Limit of all trees of a model. */
export const maxSplits = 500_000;
export const maxDepth = 1_000;

interface Taken {
  readonly split: number;
  readonly side: Side;
  readonly share: number;
}

/**
 * Unfolds one tree: shared subtrees are copied.
 * @param options `covers`: weight of each node; `leafValues`: output of each node, 0 for splits; `parents`: number of
 * splits that lead to each node
 * @throws NotASum if the budget is exhausted, or the depth exceeds 1,000, for example because of a cycle
 */
export function unfoldTree(
  ensemble: TreeEnsemble,
  options: {
    readonly root: number;
    readonly covers: ArrayLike<number>;
    readonly leafValues: Float64Array;
    readonly parents: Int32Array;
    readonly budget: SplitBudget;
  },
): SplitTree {
  const { covers, leafValues, parents, budget } = options;
  const splits: Split[] = [];
  const path = new Map<number, Taken>();
  let expected = 0;
  let maxColumns = 0;

  const visit = (node: number, from: { parent: number; side: Side; share: number; depth: number }): void => {
    if (ensemble.decision[node] === leafCode) {
      const value = leafValues[node] ?? 0;
      expected += from.share * value;
      const above = splits[from.parent];
      if (above !== undefined) above.leaves[from.side] = value;
      return;
    }
    budget.left -= 1;
    if (budget.left < 0) throw new NotASum(`the trees have more than ${maxSplits.toLocaleString('en-US')} splits`);
    if (from.depth > maxDepth) throw new NotASum(`a tree is more than ${maxDepth} splits deep`);
    const decision = nodeDecision(ensemble, node, parents);
    const nearShare = nearShareOf(decision, covers[node] ?? 0);
    const column = ensemble.inputs[decision.input]?.column ?? -1;
    const above = path.get(column);
    const index = splits.length;
    const before = above?.share ?? 1;
    splits.push({
      decision,
      column,
      parent: from.parent,
      side: from.side,
      ancestor: above?.split ?? -1,
      ancestorSide: above?.side ?? farSide,
      before,
      shares: [1 - nearShare, nearShare],
      leaves: [undefined, undefined],
    });
    for (const side of [nearSide, farSide] as const) {
      const share = side === nearSide ? nearShare : 1 - nearShare;
      path.set(column, { split: index, side, share: before * share });
      maxColumns = Math.max(maxColumns, path.size);
      const child = side === nearSide ? decision.near : decision.far;
      visit(child, { parent: index, side, share: from.share * share, depth: from.depth + 1 });
    }
    if (above === undefined) path.delete(column);
    else path.set(column, above);
  };

  // The cover of a child without another parent, because a shared child counts the rows of all its parents. If no row
  // reached the split, each of its nodes counts as an even split.
  const nearShareOf = ({ whenTrue, whenFalse, near, nodes }: NodeDecision, cover: number): number => {
    const isTrueAlone = (parents[whenFalse] ?? 0) > 1 && (parents[whenTrue] ?? 0) <= nodes;
    const share = isTrueAlone ? (covers[whenTrue] ?? 0) / cover : 1 - (covers[whenFalse] ?? 0) / cover;
    const shareOfTrue = cover > 0 ? Math.min(1, Math.max(0, share)) : 1 - 0.5 ** nodes;
    return near === whenTrue ? shareOfTrue : 1 - shareOfTrue;
  };

  visit(options.root, { parent: -1, side: farSide, share: 1, depth: 0 });
  return { splits, expected, maxColumns };
}

/**
 * The weight of each node, from which shares of the training rows are computed.
 * @param covers weights of all tree nodes of the bundle; undefined if it has none
 * @returns the bundle's weights, or without a bundle file the ONNX hit rates
 * @throws NotASum if the weights are absent or implausible: some converters write a constant or nothing
 */
export function nodeCovers(ensemble: TreeEnsemble, covers: Float32Array | undefined): ArrayLike<number> {
  const { firstCover, nodeCount, hitRates } = ensemble;
  if (covers !== undefined) {
    const own = covers.subarray(firstCover, firstCover + nodeCount);
    if (own.length === nodeCount && areAdditive(own, ensemble)) return own;
  } else if (hitRates !== undefined && areAdditive(hitRates, ensemble)) return hitRates;
  const what = covers === undefined && hitRates !== undefined ? 'the hit rates of the trees' : 'the covers';
  if (covers === undefined && hitRates === undefined)
    throw new NotASum('the trees come without the weights of their nodes');
  throw new NotASum(`${what} are constant or do not add up`);
}

/** Tolerance for float32 sums, and for hessians that were rounded when written. */
const roundingShare = 1e-3;

/** Whether children add up to their parent (except children with several parents) and the weights vary. */
function areAdditive(weights: ArrayLike<number>, ensemble: TreeEnsemble): boolean {
  const { decision, whenTrue, whenFalse, nodeCount } = ensemble;
  const parents = parentCounts(ensemble);
  const at = (node: number): number => weights[node] ?? Number.NaN;
  let isConstant = true;
  let splits = 0;
  for (let node = 0; node < nodeCount; node += 1) {
    const weight = at(node);
    if (!(Number.isFinite(weight) && weight >= 0)) return false;
    isConstant &&= weight === at(0);
    if (decision[node] === leafCode) continue;
    const [one, other] = [whenTrue[node] ?? -1, whenFalse[node] ?? -1];
    if (one === other) continue;
    splits += 1;
    if ((parents[one] ?? 0) > 1 || (parents[other] ?? 0) > 1) continue;
    if (!(Math.abs(at(one) + at(other) - weight) <= roundingShare * weight)) return false;
  }
  return splits === 0 || !isConstant;
}

/** Number of splits that lead to each node. */
export function parentCounts({ nodeCount, decision, whenTrue, whenFalse }: TreeEnsemble): Int32Array {
  const counts = new Int32Array(nodeCount);
  for (let node = 0; node < nodeCount; node += 1) {
    if (decision[node] === leafCode) continue;
    for (const child of [whenTrue[node], whenFalse[node]]) {
      if (child !== undefined) counts[child] = (counts[child] ?? 0) + 1;
    }
  }
  return counts;
}
