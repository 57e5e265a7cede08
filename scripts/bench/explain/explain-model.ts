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
  const covers: number[] = [];
  const decision: number[] = [];
  const input: number[] = [];
  const threshold: number[] = [];
  const whenTrue: number[] = [];
  const whenFalse: number[] = [];
  const leafWeights: LeafWeight[] = [];
  const grow = (levels: number, cover: number): number => {
    const node = covers.push(cover) - 1;
    const isNumber = random.chance(0.6);
    decision[node] = levels === 0 ? leafCode : atMostCode;
    input[node] = isNumber ? random.integer(0, numbers - 1) : random.integer(numbers, width - 1);
    threshold[node] = isNumber ? Math.fround(random.uniform()) : 0.5;
    whenTrue[node] = -1;
    whenFalse[node] = -1;
    if (levels === 0) {
      leafWeights.push({ node, target: 0, weight: (random.uniform() - 0.5) / 10 });
      return node;
    }
    const trueCover = Math.round(cover * (0.1 + 0.8 * random.uniform()));
    whenTrue[node] = grow(levels - 1, trueCover);
    whenFalse[node] = grow(levels - 1, cover - trueCover);
    return node;
  };
  const roots = Array.from({ length: trees }, () => grow(depth, trainingRows));
  const nodeCount = covers.length;
  const ensemble = {
    inputs: Array.from({ length: width }, (_, column) => ({ column, weight: 1, offset: 0 })),
    firstCover: 0,
    nodeCount,
    roots,
    decision: Uint8Array.from(decision),
    input: Int32Array.from(input),
    threshold: Float64Array.from(threshold),
    members: new Map(),
    whenTrue: Int32Array.from(whenTrue),
    whenFalse: Int32Array.from(whenFalse),
    missingIsTrue: Uint8Array.from({ length: nodeCount }, (_, node) => node % 2),
    hitRates: undefined,
    leafWeights,
  };
  return {
    sum: { constant: -1.5, weights: new Map(), trees: [{ ensemble, target: 0, factor: 1 }] },
    isProbability: false,
    covers: Float32Array.from(covers),
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
