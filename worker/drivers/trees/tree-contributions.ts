import { noted } from '../../pool/crash-note.js';
import { TimeSlices } from '../../pool/time-slices.js';
import { type ExactExplainer, type InputRows, logOdds, scaleToLogOdds } from '../contributions.js';
import { type PreparedTrees, prepareTrees, type TreeGroup, type TreeModel } from './prepared-trees.js';
import { type RecordBlock, treeWalker } from './tree-walk.js';

/** Records per block, so that a tree's tables stay in the CPU cache; fewer for large trees. */
const maxBlockRecords = 64;
const maxBlockStandings = 65_536;

/**
 * Exact path-dependent Shapley values of a sum of trees, like the `shap` package's. An unknown column is averaged over
 * the training rows that reached each split.
 * @throws NotASum if node weights are missing or the trees are too large
 */
export const explainTrees = (model: TreeModel): ExactExplainer => explainPreparedTrees(prepareTrees(model));

/** Like `explainTrees`, for prepared trees. */
export function explainPreparedTrees(trees: PreparedTrees): ExactExplainer {
  const { groups, fields, width, isProbability, expected } = trees;
  const largest = groups.flatMap((group) => group.trees).reduce((max, { size }) => Math.max(max, size), 1);
  const blockRecords = Math.max(1, Math.min(maxBlockRecords, Math.floor(maxBlockStandings / largest)));
  const addTree = treeWalker({ largest, records: blockRecords });
  return {
    method: 'tree',
    base: isProbability ? logOdds(expected) : expected,
    contributions: async ({ rows, count, signal }: InputRows) => {
      const out = new Float64Array(count * fields);
      const slices = new TimeSlices(signal);
      for (let first = 0; first < count; first += blockRecords) {
        const records = Math.min(blockRecords, count - first);
        const blockRows = rows.subarray(first * width, (first + records) * width);
        for (const group of groups) {
          const block = transposed(blockRows, { group, records, width });
          for (const tree of group.trees) {
            noted(() => addTree(tree, block, { out, first: first * fields, fields }));
            if (slices.isOver) await slices.next();
          }
        }
      }
      if (isProbability) scaleToLogOdds(out, { base: expected, fields });
      return out;
    },
  };
}

/** Transposes the columns that trees read. Values are computed in float32, like ONNX does. */
function transposed(
  rows: Float32Array,
  by: { readonly group: TreeGroup; readonly records: number; readonly width: number },
): RecordBlock {
  const { records, width } = by;
  const { inputs, used } = by.group;
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
