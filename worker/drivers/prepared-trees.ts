import { NotASum, type Sum, type TreeShare } from './graph/sum.js';
import { Slices } from './time-slices.js';
import type { TreeEnsemble, TreeInput } from './tree-ensemble.js';
import type { NodeDecision } from './trees/node-decision.js';
import {
  nodeCovers,
  parentCounts,
  type SplitBudget,
  type SplitTree,
  unfoldTree,
} from './trees/split-tree.js';
import { planRows, tableNumbers, tableWidths, type WalkTable, walkTables } from './trees/walk-tables.js';

/** Beyond these a model is too large to keep tables of: about 100 MB. */
const mostSplits = 500_000;
const mostNumbers = 12_500_000;

/** Trees that share their inputs, ready to be walked. */
export interface Grove {
  readonly inputs: readonly TreeInput[];
  /** Those of the inputs that some split looks at. */
  readonly used: readonly number[];
  readonly trees: readonly WalkedTree[];
}

export interface TreeModel {
  /** A sum of trees; log-odds, or a probability when `isProbability`. */
  readonly sum: Sum;
  readonly isProbability: boolean;
  /** Those of the bundle. */
  readonly covers: Float32Array | undefined;
  readonly width: number;
  /** Numbers a record, and the place of each input column's among them. */
  readonly fields: number;
  readonly fieldOfColumn: Int32Array;
}

/** The trees of a model with what walking needs of it: plain data, which can go from one thread to another. */
export interface PreparedTrees extends Pick<TreeModel, 'isProbability' | 'width' | 'fields'> {
  readonly groves: readonly Grove[];
  /** The mean output. */
  readonly expected: number;
}

/**
 * Unfolds the trees of a model, and works out what walking them multiplies with.
 * @throws NotASum when the weights of the nodes are not known or the trees are too large
 */
export async function prepareTrees(model: TreeModel): Promise<PreparedTrees> {
  const slices = new Slices();
  const groves: Grove[] = [];
  const budget = { left: mostSplits };
  const numbers = { left: mostNumbers };
  let expected = model.sum.constant;
  for (const [ensemble, shares] of sharesByEnsemble(model.sum)) {
    const trees: WalkedTree[] = [];
    for await (const tree of unfoldAll(ensemble, shares, { model, budget, slices })) {
      expected += tree.expected;
      if (tree.splits.length === 0) continue;
      const prepared = prepareTree(tree, (column) => model.fieldOfColumn[column] ?? 0);
      numbers.left -= prepared.numbers;
      if (numbers.left < 0) throw new NotASum('the trees are too large to be explained exactly');
      trees.push(prepared.walked);
    }
    const used = [...new Set(trees.flatMap((tree) => [...tree.input]))];
    groves.push({ inputs: ensemble.inputs, used, trees });
  }
  // Only what walking needs: the trees as they were read, several times as large, are let go.
  const { isProbability, width, fields } = model;
  return { isProbability, width, fields, groves, expected };
}

function sharesByEnsemble({ trees }: Sum): Map<TreeEnsemble, TreeShare[]> {
  const byEnsemble = new Map<TreeEnsemble, TreeShare[]>();
  for (const share of trees) {
    const shares = byEnsemble.get(share.ensemble);
    if (shares === undefined) byEnsemble.set(share.ensemble, [share]);
    else shares.push(share);
  }
  return byEnsemble;
}

async function* unfoldAll(
  ensemble: TreeEnsemble,
  shares: readonly TreeShare[],
  with_: { readonly model: TreeModel; readonly budget: SplitBudget; readonly slices: Slices },
) {
  const { model, budget, slices } = with_;
  const factors = new Map<number, number>();
  for (const { target, factor } of shares) factors.set(target, (factors.get(target) ?? 0) + factor);
  const leafValues = new Float64Array(ensemble.nodeCount);
  for (const { node, target, weight } of ensemble.leafWeights)
    leafValues[node] = (leafValues[node] ?? 0) + weight * (factors.get(target) ?? 0);
  const covers = nodeCovers(ensemble, model.covers);
  const parents = parentCounts(ensemble);
  for (const root of ensemble.roots) {
    if (slices.isOver) await slices.next();
    yield unfoldTree(ensemble, { root, covers, leafValues, parents, budget });
  }
}

/** A tree ready to be walked: everything by split, parents before children. */
export interface WalkedTree {
  readonly size: number;
  readonly input: Int32Array;
  readonly threshold: Float64Array;
  readonly isMissingNear: Uint8Array;
  /** Splits on a set of values, by their place; empty in most trees. */
  readonly members: readonly (Float64Array | undefined)[];
  /** The nearest split above on the same column and the side taken there; -1 when there is none. */
  readonly ancestor: Int32Array;
  readonly ancestorSide: Uint8Array;
  readonly tables: readonly WalkTable[];
}

/**
 * @param fieldOf the place of an input column's contribution
 * @returns a tree ready to be walked, and how many numbers its tables hold
 */
export function prepareTree(
  tree: SplitTree,
  fieldOf: (column: number) => number,
): { walked: WalkedTree; numbers: number } {
  const { splits } = tree;
  const rows = planRows(tree);
  const widths = tableWidths(tree.mostColumns);
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
