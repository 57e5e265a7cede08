import { MISSED_ABOVE, type WalkTable } from './walk-tables.js';
import type { WalkedTree } from './walked-tree.js';

/** Records whose columns lie one after the other: the value of record r in column c is at `c * records + r`. */
export interface RecordBlock {
  readonly columns: Float32Array;
  readonly records: number;
  /** 1 for a column that holds NaN for some record. */
  readonly hasMissing: Uint8Array;
}

/** Where contributions are added: `fields` numbers a record, from `first` on. */
export interface ContributionTarget {
  readonly out: Float64Array;
  readonly first: number;
  readonly fields: number;
}

/**
 * Walks trees with memory of its own, one at a time.
 * 1. Decides at every split where each record of a block goes; ONNX compares in float32, and so does this.
 * 2. Walks down each tree once a record, multiplying factors, and up again, adding up what lies below each split: see
 *    `walk-tables.ts`. Two or three points of the quadrature are done together.
 */
export class TreeWalker {
  /** How each record stands at each split, record after record. */
  private readonly standing: Uint8Array;
  /** By split and point: the product of the factors on the way down, and the sum of what lies below. */
  private readonly products: Float64Array;
  private readonly sums: Float64Array;

  /** @param options `largest`: the most splits of one tree; `records`: the most records of one block */
  constructor({ largest, records }: { readonly largest: number; readonly records: number }) {
    this.standing = new Uint8Array(largest * records);
    this.products = new Float64Array(3 * largest);
    this.sums = new Float64Array(3 * largest);
  }

  /** Adds what one tree contributes for each record of a block. */
  addTree(tree: WalkedTree, block: RecordBlock, target: ContributionTarget): void {
    decide(tree, block, this.standing);
    for (const table of tree.tables) {
      let outAt = target.first;
      for (let record = 0; record < block.records; record += 1) {
        if (table.points === 3) this.walkThree(tree, table, record * tree.size, target.out, outAt);
        else this.walkTwo(tree, table, record * tree.size, target.out, outAt);
        outAt += target.fields;
      }
    }
  }

  /** The innermost loop: unrolled over the points, with plain arguments and without objects of its own. */
  private walkThree(
    { size, parent, field, edgeRow, leafRow }: WalkedTree,
    { edges, leaves }: WalkTable,
    standingAt: number,
    out: Float64Array,
    outAt: number,
  ): void {
    const { standing, products, sums } = this;
    products.fill(1, 0, 3);
    sums.fill(0, 0, 3);
    for (let split = 1; split < size; split += 1) {
      const above = parent[split] ?? 0;
      const row = 6 * ((edgeRow[split] ?? 0) + (standing[standingAt + above] ?? 0));
      const at = 3 * split;
      const from = 3 * above;
      products[at] = (products[from] ?? 0) * (edges[row] ?? 0);
      products[at + 1] = (products[from + 1] ?? 0) * (edges[row + 1] ?? 0);
      products[at + 2] = (products[from + 2] ?? 0) * (edges[row + 2] ?? 0);
      sums[at] = 0;
      sums[at + 1] = 0;
      sums[at + 2] = 0;
    }
    for (let split = size - 1; split >= 0; split -= 1) {
      const at = 3 * split;
      let sum0 = sums[at] ?? 0;
      let sum1 = sums[at + 1] ?? 0;
      let sum2 = sums[at + 2] ?? 0;
      const leaf = leafRow[split] ?? -1;
      if (leaf >= 0) {
        const row = 6 * (leaf + (standing[standingAt + split] ?? 0));
        const product0 = products[at] ?? 0;
        const product1 = products[at + 1] ?? 0;
        const product2 = products[at + 2] ?? 0;
        sum0 += product0 * (leaves[row] ?? 0);
        sum1 += product1 * (leaves[row + 1] ?? 0);
        sum2 += product2 * (leaves[row + 2] ?? 0);
        const to = outAt + (field[split] ?? 0);
        out[to] =
          (out[to] ?? 0) +
          (product0 * (leaves[row + 3] ?? 0) +
            product1 * (leaves[row + 4] ?? 0) +
            product2 * (leaves[row + 5] ?? 0));
      }
      if (split === 0) break;
      const above = parent[split] ?? 0;
      const row = 6 * ((edgeRow[split] ?? 0) + (standing[standingAt + above] ?? 0));
      const from = 3 * above;
      sums[from] = (sums[from] ?? 0) + sum0;
      sums[from + 1] = (sums[from + 1] ?? 0) + sum1;
      sums[from + 2] = (sums[from + 2] ?? 0) + sum2;
      const to = outAt + (field[above] ?? 0);
      out[to] =
        (out[to] ?? 0) +
        (sum0 * (edges[row + 3] ?? 0) + sum1 * (edges[row + 4] ?? 0) + sum2 * (edges[row + 5] ?? 0));
    }
  }

  /** The same for two points. */
  private walkTwo(
    { size, parent, field, edgeRow, leafRow }: WalkedTree,
    { edges, leaves }: WalkTable,
    standingAt: number,
    out: Float64Array,
    outAt: number,
  ): void {
    const { standing, products, sums } = this;
    products.fill(1, 0, 2);
    sums.fill(0, 0, 2);
    for (let split = 1; split < size; split += 1) {
      const above = parent[split] ?? 0;
      const row = 4 * ((edgeRow[split] ?? 0) + (standing[standingAt + above] ?? 0));
      const at = 2 * split;
      const from = 2 * above;
      products[at] = (products[from] ?? 0) * (edges[row] ?? 0);
      products[at + 1] = (products[from + 1] ?? 0) * (edges[row + 1] ?? 0);
      sums[at] = 0;
      sums[at + 1] = 0;
    }
    for (let split = size - 1; split >= 0; split -= 1) {
      const at = 2 * split;
      let sum0 = sums[at] ?? 0;
      let sum1 = sums[at + 1] ?? 0;
      const leaf = leafRow[split] ?? -1;
      if (leaf >= 0) {
        const row = 4 * (leaf + (standing[standingAt + split] ?? 0));
        const product0 = products[at] ?? 0;
        const product1 = products[at + 1] ?? 0;
        sum0 += product0 * (leaves[row] ?? 0);
        sum1 += product1 * (leaves[row + 1] ?? 0);
        const to = outAt + (field[split] ?? 0);
        out[to] = (out[to] ?? 0) + (product0 * (leaves[row + 2] ?? 0) + product1 * (leaves[row + 3] ?? 0));
      }
      if (split === 0) break;
      const above = parent[split] ?? 0;
      const row = 4 * ((edgeRow[split] ?? 0) + (standing[standingAt + above] ?? 0));
      const from = 2 * above;
      sums[from] = (sums[from] ?? 0) + sum0;
      sums[from + 1] = (sums[from + 1] ?? 0) + sum1;
      const to = outAt + (field[above] ?? 0);
      out[to] = (out[to] ?? 0) + (sum0 * (edges[row + 2] ?? 0) + sum1 * (edges[row + 3] ?? 0));
    }
  }
}

/** Where each record goes at each split; MISSED_ABOVE where it left the way on the same column before. */
function decide(tree: WalkedTree, block: RecordBlock, standing: Uint8Array): void {
  const { size, ancestor, ancestorSide, members } = tree;
  for (let split = 0; split < size; split += 1) {
    const set = members[split];
    if (set === undefined) compareWithThreshold(tree, split, block, standing);
    else lookUpInSet({ tree, split, set }, block, standing);
    const above = ancestor[split] ?? -1;
    if (above < 0) continue;
    const taken = ancestorSide[split] ?? 0;
    for (let at = 0; at < size * block.records; at += size)
      if (standing[at + above] !== taken) standing[at + split] = MISSED_ABOVE;
  }
}

function compareWithThreshold(
  { size, input, threshold, isMissingNear }: WalkedTree,
  split: number,
  { columns, records, hasMissing }: RecordBlock,
  standing: Uint8Array,
): void {
  const column = input[split] ?? 0;
  const limit = threshold[split] ?? 0;
  const start = column * records;
  let at = split;
  // Comparing gives 0 or 1, which are the far and the near side; a branch would be mispredicted half of the time.
  for (let record = 0; record < records; record += 1) {
    standing[at] = +((columns[start + record] ?? 0) <= limit);
    at += size;
  }
  if (hasMissing[column] === 0 || isMissingNear[split] === 0) return;
  for (let record = 0; record < records; record += 1)
    if (Number.isNaN(columns[start + record])) standing[split + record * size] = 1;
}

function lookUpInSet(
  { tree, split, set }: { readonly tree: WalkedTree; readonly split: number; readonly set: Float64Array },
  { columns, records }: RecordBlock,
  standing: Uint8Array,
): void {
  const start = (tree.input[split] ?? 0) * records;
  const ofMissing = tree.isMissingNear[split] ?? 0;
  for (let record = 0; record < records; record += 1) {
    const value = columns[start + record] ?? Number.NaN;
    standing[split + record * tree.size] = Number.isNaN(value) ? ofMissing : +isAmong(set, value);
  }
}

/** @param set ascending */
function isAmong(set: Float64Array, value: number): boolean {
  for (let index = 0; index < set.length; index += 1) {
    const member = set[index] ?? Number.POSITIVE_INFINITY;
    if (member >= value) return member === value;
  }
  return false;
}
