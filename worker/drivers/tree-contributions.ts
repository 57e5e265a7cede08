import type { ExactExplainer, InputRows } from './contributions.js';
import { logOdds, scaleToLogOdds } from './log-odds.js';
import { NotASum } from './not-a-sum.js';
import { Slices } from './slices.js';
import { nodeCovers, parentCounts } from './split-shares.js';
import { type SplitBudget, unfoldTree } from './split-tree.js';
import type { Sum, TreeShare } from './sum.js';
import type { TreeEnsemble, TreeInput } from './tree-ensemble.js';
import { type RecordBlock, TreeWalker } from './tree-walk.js';
import { prepareTree, type WalkedTree } from './walked-tree.js';

/** Beyond these a model is too large to keep tables of: about 100 MB. */
const mostSplits = 500_000;
const mostNumbers = 12_500_000;

/** Records walked at once, so that a tree's tables are read from the nearest cache; fewer where trees are large. */
const blockRecords = 64;
const blockStandings = 65_536;

/** Trees that share their inputs, ready to be walked. */
interface Grove {
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

/**
 * Exact Shapley values of a sum of trees, path-dependent as the `shap` package computes them: what a record does not have
 * is averaged over the training rows that reached each split.
 * @throws NotASum when the weights of the nodes are not known or the trees are too large
 */
export async function explainTrees(model: TreeModel): Promise<ExactExplainer> {
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
  return new TreeExplainer({ isProbability, width, fields, groves, expected });
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

interface PreparedTrees extends Pick<TreeModel, 'isProbability' | 'width' | 'fields'> {
  readonly groves: readonly Grove[];
  /** The mean output. */
  readonly expected: number;
}

class TreeExplainer implements ExactExplainer {
  readonly method = 'tree';
  readonly base: number;
  private readonly walker: TreeWalker;
  private readonly blockRecords: number;

  constructor(private readonly trees: PreparedTrees) {
    this.base = trees.isProbability ? logOdds(trees.expected) : trees.expected;
    const sizes = trees.groves.flatMap((grove) => grove.trees.map((tree) => tree.size));
    const largest = sizes.reduce((most, size) => Math.max(most, size), 1);
    this.blockRecords = Math.max(1, Math.min(blockRecords, Math.floor(blockStandings / largest)));
    this.walker = new TreeWalker({ largest, records: this.blockRecords });
  }

  async contributions({ rows, count }: InputRows): Promise<Float64Array> {
    const { fields, width, isProbability, expected } = this.trees;
    const out = new Float64Array(count * fields);
    const slices = new Slices();
    for (let first = 0; first < count; first += this.blockRecords) {
      const records = Math.min(this.blockRecords, count - first);
      const ofBlock = rows.subarray(first * width, (first + records) * width);
      for (const grove of this.trees.groves) {
        const block = transposed(ofBlock, { grove, records, width });
        for (const tree of grove.trees) {
          this.walker.addTree(tree, block, { out, first: first * fields, fields });
          if (slices.isOver) await slices.next();
        }
      }
    }
    if (isProbability) scaleToLogOdds(out, { base: expected, fields });
    return out;
  }
}

/** The columns that trees read, one after the other, worked out in float32 as ONNX does. */
function transposed(
  rows: Float32Array,
  by: { readonly grove: Grove; readonly records: number; readonly width: number },
): RecordBlock {
  const { records, width } = by;
  const { inputs, used } = by.grove;
  const columns = new Float32Array(inputs.length * records);
  const hasMissing = new Uint8Array(inputs.length);
  for (const index of used) {
    const { column = -1, weight = 1, offset = 0 } = inputs[index] ?? {};
    for (let record = 0; record < records; record += 1) {
      const value = (rows[record * width + column] ?? Number.NaN) * weight + offset;
      columns[index * records + record] = value;
      if (Number.isNaN(value)) hasMissing[index] = 1;
    }
  }
  return { columns, records, hasMissing };
}
