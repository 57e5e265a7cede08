import type { TreeModel } from '../../worker/drivers/prepared-trees.js';
import { AT_MOST, LEAF, type LeafWeight, type TreeEnsemble } from '../../worker/drivers/tree-ensemble.js';
import { type SeededRandom, seededRandom } from '../demo/seeded-random.js';

/** The size of a made-up model. */
export interface ExplainModelSize {
  readonly trees: number;
  readonly depth: number;
}

/** Columns of a record, as a CRM gives them: a few numbers, the rest from one-hot fields. */
const numbers = 8;
const oneHotFields = 8;
const columnsOfField = 9;
const width = numbers + oneHotFields * columnsOfField;
const trainingRows = 50_000;

/** A model of full trees, as boosting makes them: splits on any column, uneven shares, small leaves. Always the same. */
export function explainModel({ trees, depth }: ExplainModelSize): TreeModel {
  const random = seededRandom(trees + depth);
  const grown = new GrownTrees(random);
  const roots = Array.from({ length: trees }, () => grown.grow(depth, trainingRows));
  return {
    sum: {
      constant: -1.5,
      weights: new Map(),
      trees: [{ ensemble: grown.ensemble(roots), target: 0, factor: 1 }],
    },
    isProbability: false,
    covers: Float32Array.from(grown.covers),
    width,
    fields: numbers + oneHotFields,
    fieldOfColumn: Int32Array.from({ length: width }, (_, column) =>
      column < numbers ? column : numbers + Math.floor((column - numbers) / columnsOfField),
    ),
  };
}

/** Input rows for such a model; one number in twelve is missing. */
export function explainRows(count: number): Float32Array {
  const random = seededRandom(count);
  const rows = new Float32Array(count * width);
  for (let row = 0; row < count; row += 1) {
    for (let column = 0; column < numbers; column += 1)
      rows[row * width + column] = random.chance(1 / 12) ? Number.NaN : random.uniform();
    for (let field = 0; field < oneHotFields; field += 1)
      rows[row * width + numbers + field * columnsOfField + random.integer(0, columnsOfField - 1)] = 1;
  }
  return rows;
}

class GrownTrees {
  readonly covers: number[] = [];
  private readonly decision: number[] = [];
  private readonly input: number[] = [];
  private readonly threshold: number[] = [];
  private readonly whenTrue: number[] = [];
  private readonly whenFalse: number[] = [];
  private readonly leafWeights: LeafWeight[] = [];

  constructor(private readonly random: SeededRandom) {}

  /** Grows a tree; returns its root. */
  grow(depth: number, cover: number): number {
    const { random } = this;
    const node = this.covers.push(cover) - 1;
    const isNumber = random.chance(0.6);
    const column = isNumber ? random.integer(0, numbers - 1) : random.integer(numbers, width - 1);
    this.decision[node] = depth === 0 ? LEAF : AT_MOST;
    this.input[node] = column;
    this.threshold[node] = isNumber ? Math.fround(random.uniform()) : 0.5;
    this.whenTrue[node] = -1;
    this.whenFalse[node] = -1;
    if (depth === 0) {
      this.leafWeights.push({ node, target: 0, weight: (random.uniform() - 0.5) / 10 });
      return node;
    }
    const ofTrue = Math.round(cover * (0.1 + 0.8 * random.uniform()));
    this.whenTrue[node] = this.grow(depth - 1, ofTrue);
    this.whenFalse[node] = this.grow(depth - 1, cover - ofTrue);
    return node;
  }

  ensemble(roots: readonly number[]): TreeEnsemble {
    const nodeCount = this.covers.length;
    return {
      inputs: Array.from({ length: width }, (_, column) => ({ column, weight: 1, offset: 0 })),
      firstCover: 0,
      nodeCount,
      roots,
      decision: Uint8Array.from(this.decision),
      input: Int32Array.from(this.input),
      threshold: Float64Array.from(this.threshold),
      members: new Map(),
      whenTrue: Int32Array.from(this.whenTrue),
      whenFalse: Int32Array.from(this.whenFalse),
      missingIsTrue: Uint8Array.from({ length: nodeCount }, (_, node) => node % 2),
      hitRates: undefined,
      leafWeights: this.leafWeights,
    };
  }
}
