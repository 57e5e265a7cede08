import { type NodeDecision, nodeDecision } from './node-decision.js';
import { NotASum } from './not-a-sum.js';
import { trueShare } from './split-shares.js';
import { LEAF, type TreeEnsemble } from './tree-ensemble.js';

export const FAR = 0;
export const NEAR = 1;
export type Side = typeof FAR | typeof NEAR;

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

const DEEPEST = 1_000;

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
    if (place.depth > DEEPEST) throw new NotASum(`a tree is more than ${DEEPEST} splits deep`);
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
      ancestorSide: above?.side ?? FAR,
      before,
      shares: [1 - nearShare, nearShare],
      leaves: [undefined, undefined],
    });
    for (const side of [NEAR, FAR] as const) {
      const share = side === NEAR ? nearShare : 1 - nearShare;
      path.set(column, { split: index, side, share: before * share });
      mostColumns = Math.max(mostColumns, path.size);
      const child = side === NEAR ? decision.near : decision.far;
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

  visit(options.root, { parent: -1, side: FAR, share: 1, depth: 0 });
  return { splits, expected, mostColumns };
}
