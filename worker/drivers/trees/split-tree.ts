import { NotASum } from '../graph/sum.js';
import { LEAF, type TreeEnsemble } from '../tree-ensemble.js';
import { type NodeDecision, nodeDecision } from './node-decision.js';

export const farSide = 0;
export const nearSide = 1;
export type Side = typeof farSide | typeof nearSide;

/** A split of a tree, which has one parent: subtrees that a file shares are there once for each path to them. */
export interface Split {
  readonly decision: NodeDecision;
  /** The model's input column that it looks at. */
  readonly column: number;
  /** Index of the split above, and the side on which this one is; -1 for the root. */
  readonly parent: number;
  readonly side: Side;
  /** The nearest split above on the same column, and the side taken there; -1 when there is none. */
  readonly ancestor: number;
  readonly ancestorSide: Side;
  /** The product of the shares of the edges above on the same column. */
  readonly before: number;
  /** The share of the rows that goes to each side. */
  readonly shares: readonly [far: number, near: number];
  /** The value of the leaf on each side; undefined where there is another split. */
  readonly leaves: [far: number | undefined, near: number | undefined];
}

/** One tree: its splits, parents before children. */
export interface SplitTree {
  readonly splits: readonly Split[];
  /** The mean of its leaves by their shares; the value itself of a tree that is one leaf. */
  readonly expected: number;
  /** The most distinct columns on one path. */
  readonly mostColumns: number;
}

/** How many splits all trees of a model may still have; goes down. */
export interface SplitBudget {
  left: number;
}

const maxDepth = 1_000;

interface Taken {
  readonly split: number;
  readonly side: Side;
  readonly share: number;
}

/**
 * Unfolds one tree.
 * @param options `covers`: the weight of each node. `leafValues`: what each node gives, 0 where it gives nothing.
 * `parents`: how many splits lead to each node
 * @throws NotASum when the budget is spent, or the tree is deeper than any that is trained (or runs in a circle)
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
  let mostColumns = 0;

  const visit = (node: number, place: { parent: number; side: Side; share: number; depth: number }): void => {
    if (ensemble.decision[node] === LEAF) {
      const value = leafValues[node] ?? 0;
      expected += place.share * value;
      const above = splits[place.parent];
      if (above !== undefined) above.leaves[place.side] = value;
      return;
    }
    budget.left -= 1;
    if (budget.left < 0) throw new NotASum('the trees are too large to be explained exactly');
    if (place.depth > maxDepth) throw new NotASum(`a tree is more than ${maxDepth} splits deep`);
    const decision = nodeDecision(ensemble, node, parents);
    const nearShare = nearShareOf(decision, covers[node] ?? 0);
    const column = ensemble.inputs[decision.input]?.column ?? -1;
    const above = path.get(column);
    const index = splits.length;
    const before = above?.share ?? 1;
    splits.push({
      decision,
      column,
      parent: place.parent,
      side: place.side,
      ancestor: above?.split ?? -1,
      ancestorSide: above?.side ?? farSide,
      before,
      shares: [1 - nearShare, nearShare],
      leaves: [undefined, undefined],
    });
    for (const side of [nearSide, farSide] as const) {
      const share = side === nearSide ? nearShare : 1 - nearShare;
      path.set(column, { split: index, side, share: before * share });
      mostColumns = Math.max(mostColumns, path.size);
      const child = side === nearSide ? decision.near : decision.far;
      visit(child, { parent: index, side, share: place.share * share, depth: place.depth + 1 });
    }
    if (above === undefined) path.delete(column);
    else path.set(column, above);
  };

  const nearShareOf = (decision: NodeDecision, cover: number): number => {
    const { whenTrue, whenFalse, near, nodes } = decision;
    const ofTrue = trueShare({
      cover,
      ofTrue: covers[whenTrue] ?? 0,
      ofFalse: covers[whenFalse] ?? 0,
      isFalseShared: (parents[whenFalse] ?? 0) > 1,
      isTrueShared: (parents[whenTrue] ?? 0) > nodes,
      nodes,
    });
    return near === whenTrue ? ofTrue : 1 - ofTrue;
  };

  visit(options.root, { parent: -1, side: farSide, share: 1, depth: 0 });
  return { splits, expected, mostColumns };
}

/**
 * The weight of each node that its share of the training rows is worked out from.
 * @param covers those of the whole bundle, in the order of its tree nodes; undefined when it has none
 * @returns the bundle's where it has them, else the file's hit rates
 * @throws NotASum when they cannot be believed: converters write a constant, or leave them out
 */
export function nodeCovers(ensemble: TreeEnsemble, covers: Float32Array | undefined): ArrayLike<number> {
  const { firstCover, nodeCount, hitRates } = ensemble;
  if (covers !== undefined) {
    const own = covers.subarray(firstCover, firstCover + nodeCount);
    if (own.length === nodeCount && addUp(own, ensemble)) return own;
  } else if (hitRates !== undefined && addUp(hitRates, ensemble)) return hitRates;
  const what = covers === undefined && hitRates !== undefined ? 'the hit rates of the trees' : 'the covers';
  if (covers === undefined && hitRates === undefined)
    throw new NotASum('the trees come without the weights of their nodes');
  throw new NotASum(`${what} are constant or do not add up`);
}

/** Sums of float32 numbers, and hessians that were rounded before they were written. */
const roundingShare = 1e-3;

/** Whether children sum to their parent (those with several parents left out), and not all nodes have the same. */
function addUp(weights: ArrayLike<number>, ensemble: TreeEnsemble): boolean {
  const { decision, whenTrue, whenFalse, nodeCount } = ensemble;
  const parents = parentCounts(ensemble);
  const at = (node: number): number => weights[node] ?? Number.NaN;
  let isConstant = true;
  let splits = 0;
  for (let node = 0; node < nodeCount; node += 1) {
    const weight = at(node);
    if (!(Number.isFinite(weight) && weight >= 0)) return false;
    isConstant &&= weight === at(0);
    if (decision[node] === LEAF) continue;
    const [one, other] = [whenTrue[node] ?? -1, whenFalse[node] ?? -1];
    if (one === other) continue;
    splits += 1;
    if ((parents[one] ?? 0) > 1 || (parents[other] ?? 0) > 1) continue;
    if (!(Math.abs(at(one) + at(other) - weight) <= roundingShare * weight)) return false;
  }
  return splits === 0 || !isConstant;
}

/** How many splits lead to each node. */
export function parentCounts({ nodeCount, decision, whenTrue, whenFalse }: TreeEnsemble): Int32Array {
  const counts = new Int32Array(nodeCount);
  for (let node = 0; node < nodeCount; node += 1) {
    if (decision[node] === LEAF) continue;
    for (const child of [whenTrue[node], whenFalse[node]]) {
      if (child !== undefined) counts[child] = (counts[child] ?? 0) + 1;
    }
  }
  return counts;
}

/**
 * The share of a split's rows that go the way of true, 0 to 1. It comes from the cover of a child that has no other
 * parent: that of a shared one counts the rows of all its parents. Half when no row reached the split, of each of the
 * `nodes` that it stands for.
 */
export function trueShare(split: {
  readonly cover: number;
  readonly ofTrue: number;
  readonly ofFalse: number;
  readonly isFalseShared: boolean;
  readonly isTrueShared: boolean;
  readonly nodes: number;
}): number {
  if (!(split.cover > 0)) return 1 - 0.5 ** split.nodes;
  const share =
    split.isFalseShared && !split.isTrueShared ? split.ofTrue / split.cover : 1 - split.ofFalse / split.cover;
  return Math.min(1, Math.max(0, share));
}
