import type { FieldColumns } from '../contributions.js';
import { NotASum, type Sum } from '../graph/sum.js';
import { maxSplits, nodeCovers, parentCounts, type SplitBudget, type SplitTree, unfoldTree } from './split-tree.js';
import type { NodeDecision, TreeEnsemble, TreeInput } from './tree-ensemble.js';
import { planRows, tableNumbers, tableWidths, type WalkTable, walkTables } from './walk-tables.js';

/** Limit of a model's tables, 100 MB; a larger model is explained by occlusion. The exporter has the same limits. */
export const maxNumbers = 12_500_000;

/** Prepared trees that share their inputs. */
export interface TreeGroup {
  readonly inputs: readonly TreeInput[];
  /** Indices of the inputs that any split reads. */
  readonly used: readonly number[];
  readonly trees: readonly WalkedTree[];
}

export interface TreeModel extends FieldColumns {
  /** A sum of trees; log-odds, or a probability when `isProbability`. */
  readonly sum: Sum;
  readonly isProbability: boolean;
  /** Node weights of the bundle. */
  readonly covers: Float32Array | undefined;
}

/** A model's trees, prepared for walking. It is plain data, so it can be posted between threads. */
export interface PreparedTrees extends Pick<TreeModel, 'isProbability' | 'width' | 'fields'> {
  readonly groups: readonly TreeGroup[];
  /** The mean output. */
  readonly expected: number;
}

/**
 * Unfolds the trees of a model and computes their walk tables.
 * @throws NotASum if node weights are missing or the trees are too large
 */
export function prepareTrees(model: TreeModel): PreparedTrees {
  const groups: TreeGroup[] = [];
  const budget = { left: maxSplits };
  const numbers = { left: maxNumbers };
  let expected = model.sum.constant;
  for (const ensemble of new Set(model.sum.trees.map((share) => share.ensemble))) {
    const trees: WalkedTree[] = [];
    const unfold = unfolding(ensemble, model, budget);
    for (const root of ensemble.roots) {
      const tree = unfold(root);
      expected += tree.expected;
      if (tree.splits.length === 0) continue;
      const prepared = prepareTree(tree, (column) => model.fieldOfColumn[column] ?? 0);
      numbers.left -= prepared.numbers;
      if (numbers.left < 0)
        throw new NotASum(`the tables of the trees have more than ${maxNumbers.toLocaleString('en-US')} numbers`);
      trees.push(prepared.walked);
    }
    const used = [...new Set(trees.flatMap((tree) => [...tree.input]))];
    groups.push({ inputs: ensemble.inputs, used, trees });
  }
  // Copies only what a walk needs, so that the parsed trees, several times as large, can be collected.
  const { isProbability, width, fields } = model;
  return { isProbability, width, fields, groups, expected };
}

/** Returns the function that unfolds the tree of a root. */
function unfolding(ensemble: TreeEnsemble, model: TreeModel, budget: SplitBudget): (root: number) => SplitTree {
  const factors = new Map<number, number>();
  for (const share of model.sum.trees) {
    if (share.ensemble !== ensemble) continue;
    factors.set(share.target, (factors.get(share.target) ?? 0) + share.factor);
  }
  const leafValues = new Float64Array(ensemble.nodeCount);
  for (const { node, target, weight } of ensemble.leafWeights)
    leafValues[node] = (leafValues[node] ?? 0) + weight * (factors.get(target) ?? 0);
  const covers = nodeCovers(ensemble, model.covers);
  const parents = parentCounts(ensemble);
  return (root) => unfoldTree(ensemble, { root, covers, leafValues, parents, budget });
}

/** A tree prepared for walking: arrays by split, parents before children. */
export interface WalkedTree {
  readonly size: number;
  readonly input: Int32Array;
  readonly threshold: Float64Array;
  readonly isMissingNear: Uint8Array;
  /** The value set of each split that has one; empty if no split has one. */
  readonly members: readonly (Float64Array | undefined)[];
  /** The nearest split above on the same column (-1: none), and the side taken there. */
  readonly ancestor: Int32Array;
  readonly ancestorSide: Uint8Array;
  readonly tables: readonly WalkTable[];
}

/**
 * @param fieldOf index of an input column's field
 * @returns the prepared tree, and the size of its tables in numbers
 */
function prepareTree(tree: SplitTree, fieldOf: (column: number) => number): { walked: WalkedTree; numbers: number } {
  const { splits } = tree;
  const rows = planRows(tree);
  const widths = tableWidths(tree.maxColumns);
  const decisions: NodeDecision[] = splits.map((split) => split.decision);
  const hasSets = decisions.some((decision) => decision.members !== undefined);
  return {
    numbers: tableNumbers(widths, rows),
    walked: {
      size: splits.length,
      input: Int32Array.from(decisions, (decision) => decision.input),
      threshold: Float64Array.from(decisions, (decision) => decision.threshold),
      isMissingNear: Uint8Array.from(decisions, (decision) => (decision.isMissingNear ? 1 : 0)),
      members: hasSets ? decisions.map((decision) => decision.members) : [],
      ancestor: Int32Array.from(splits, (split) => split.ancestor),
      ancestorSide: Uint8Array.from(splits, (split) => split.ancestorSide),
      tables: walkTables(tree, { rows, widths, fieldOf }),
    },
  };
}
