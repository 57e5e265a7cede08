import { type ExactExplainer, type InputRows, logOdds, scaleToLogOdds } from './contributions.js';
import { type Grove, type PreparedTrees, prepareTrees, type TreeModel } from './prepared-trees.js';
import { Slices } from './time-slices.js';
import { type RecordBlock, TreeWalker } from './trees/tree-walk.js';

/** Records walked at once, so that a tree's tables are read from the nearest cache; fewer where trees are large. */
const blockRecords = 64;
const blockStandings = 65_536;

/**
 * Exact Shapley values of a sum of trees, path-dependent as the `shap` package computes them: what a record does not have
 * is averaged over the training rows that reached each split.
 * @throws NotASum when the weights of the nodes are not known or the trees are too large
 */
export const explainTrees = async (model: TreeModel): Promise<ExactExplainer> =>
  explainPreparedTrees(await prepareTrees(model));

/** As `explainTrees`, of trees that have been made ready. */
export const explainPreparedTrees = (trees: PreparedTrees): ExactExplainer => new TreeExplainer(trees);

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

  async contributions({ rows, count, signal }: InputRows): Promise<Float64Array> {
    const { fields, width, isProbability, expected } = this.trees;
    const out = new Float64Array(count * fields);
    const slices = new Slices(signal);
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
