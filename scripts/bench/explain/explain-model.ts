import type { TreeModel } from '../../../worker/drivers/trees/prepared-trees.js';
import { atMostCode, type LeafWeight, leafCode } from '../../../worker/drivers/trees/tree-ensemble.js';
import { seededRandom } from '../../leads/seeded-random.js';

export interface ExplainModelSize {
  readonly trees: number;
  readonly depth: number;
}

/** Columns of a CRM record: a few numbers, the others from one-hot fields. */
const numbers = 8;
const oneHotFields = 8;
const columnsPerField = 9;
const width = numbers + oneHotFields * columnsPerField;
const trainingRows = 50_000;

/** A model of full trees as boosting grows them: splits on any column, uneven shares, small leaves. Deterministic. */
export function explainModel({ trees, depth }: ExplainModelSize): TreeModel {
  const random = seededRandom(trees + depth);
  const nodes: { isLeaf: boolean; cover: number; input: number; threshold: number; yes: number; no: number }[] = [];
  const leafWeights: LeafWeight[] = [];
  const grow = (levels: number, cover: number): number => {
    const isLeaf = levels === 0;
    const isNumber = random.chance(0.6);
    const input = isNumber ? random.integer(0, numbers - 1) : random.integer(numbers, width - 1);
    const threshold = isNumber ? Math.fround(random.uniform()) : 0.5;
    const node = { isLeaf, cover, input, threshold, yes: -1, no: -1 };
    const index = nodes.push(node) - 1;
    if (isLeaf) {
      leafWeights.push({ node: index, target: 0, weight: (random.uniform() - 0.5) / 10 });
      return index;
    }
    const yesCover = Math.round(cover * (0.1 + 0.8 * random.uniform()));
    node.yes = grow(levels - 1, yesCover);
    node.no = grow(levels - 1, cover - yesCover);
    return index;
  };
  const roots = Array.from({ length: trees }, () => grow(depth, trainingRows));
  const ensemble = {
    inputs: Array.from({ length: width }, (_, column) => ({ column, weight: 1, offset: 0 })),
    firstCover: 0,
    nodeCount: nodes.length,
    roots,
    decision: Uint8Array.from(nodes, ({ isLeaf }) => (isLeaf ? leafCode : atMostCode)),
    input: Int32Array.from(nodes, ({ input }) => input),
    threshold: Float64Array.from(nodes, ({ threshold }) => threshold),
    members: new Map(),
    whenTrue: Int32Array.from(nodes, ({ yes }) => yes),
    whenFalse: Int32Array.from(nodes, ({ no }) => no),
    missingIsTrue: Uint8Array.from(nodes, (_, index) => index % 2),
    hitRates: undefined,
    leafWeights,
  };
  return {
    sum: { constant: -1.5, weights: new Map(), trees: [{ ensemble, target: 0, factor: 1 }] },
    isProbability: false,
    covers: Float32Array.from(nodes, ({ cover }) => cover),
    width,
    fields: numbers + oneHotFields,
    fieldOfColumn: Int32Array.from({ length: width }, (_, column) =>
      column < numbers ? column : numbers + Math.floor((column - numbers) / columnsPerField),
    ),
  };
}

/** Input rows for such a model, with one number in twelve missing. */
export function explainRows(count: number): Float32Array {
  const random = seededRandom(count);
  const rows = new Float32Array(count * width);
  for (let row = 0; row < count; row += 1) {
    for (let column = 0; column < numbers; column += 1)
      rows[row * width + column] = random.chance(1 / 12) ? Number.NaN : random.uniform();
    for (let field = 0; field < oneHotFields; field += 1)
      rows[row * width + numbers + field * columnsPerField + random.integer(0, columnsPerField - 1)] = 1;
  }
  return rows;
}
