import type { WalkedTree } from './prepared-trees.js';
import { missedAbove, type WalkTable } from './walk-tables.js';

/** Records in column order: the value of record r in column c is at `c * records + r`. */
export interface RecordBlock {
  readonly columns: Float32Array;
  readonly records: number;
  /** 1 for a column with NaN in any record. */
  readonly hasMissing: Uint8Array;
}

/** Output of contributions: `fields` numbers per record, from `first` on. */
interface ContributionTarget {
  readonly out: Float64Array;
  readonly first: number;
  readonly fields: number;
}

/**
 * Walks one tree at a time, in preallocated memory (see `walk-tables.ts`).
 * 1. Decides for each split where each record of a block goes. Comparisons are in float32, like ONNX's.
 * 2. For each record walks down the tree multiplying factors, and up again summing the leaves below each
 *    split. Two or three quadrature points are processed together.
 * @param options `largest`: maximum splits of a tree; `records`: maximum records of a block
 * @returns a function that adds one tree's contributions for each record of a block
 */
export function treeWalker({ largest, records }: { readonly largest: number; readonly records: number }) {
  /** Standing of each record at each split, record by record: `farSide`, `nearSide` or `missedAbove`. */
  const standing = new Uint8Array(largest * records);
  /** By split: for each point the product of the factors above, then the sum of the leaves below. */
  const work = new Float64Array(6 * largest);
  return (tree: WalkedTree, block: RecordBlock, { out, first, fields }: ContributionTarget): void => {
    decide(tree, block, standing);
    const walked = { size: tree.size, work, standing, out };
    for (const table of tree.tables) {
      const walk = table.points === 3 ? walkThree : walkTwo;
      for (let record = 0; record < block.records; record += 1)
        walk(table, walked, record * tree.size, first + record * fields);
    }
  };
}

/** Memory that a walk uses besides its table. */
interface Walked {
  readonly size: number;
  readonly work: Float64Array;
  readonly standing: Uint8Array;
  readonly out: Float64Array;
}

/**
 * The innermost loop for three points. It is unrolled, uses few arrays because each costs registers, and reads the sums
 * of the splits below instead of adding to the split above. `planLayout` defines the indices into the plan.
 */
function walkThree(
  { plan, numbers }: WalkTable,
  { size, work, standing, out }: Walked,
  standingAt: number,
  outAt: number,
): void {
  work[0] = 1;
  work[1] = 1;
  work[2] = 1;
  for (let split = 0; split < size; split += 1) {
    const own = 6 * split;
    const first = plan[own] ?? -1;
    if (first < 0) continue;
    const second = plan[own + 1] ?? -1;
    const stand = 6 * (standing[standingAt + split] ?? 0);
    const product0 = work[own] ?? 0;
    const product1 = work[own + 1] ?? 0;
    const product2 = work[own + 2] ?? 0;
    let row = (plan[own + 2] ?? 0) + stand;
    work[first] = product0 * (numbers[row] ?? 0);
    work[first + 1] = product1 * (numbers[row + 1] ?? 0);
    work[first + 2] = product2 * (numbers[row + 2] ?? 0);
    if (second < 0) continue;
    row = (plan[own + 3] ?? 0) + stand;
    work[second] = product0 * (numbers[row] ?? 0);
    work[second + 1] = product1 * (numbers[row + 1] ?? 0);
    work[second + 2] = product2 * (numbers[row + 2] ?? 0);
  }
  for (let split = size - 1; split >= 0; split -= 1) {
    const own = 6 * split;
    const stand = 6 * (standing[standingAt + split] ?? 0);
    let sum0 = 0;
    let sum1 = 0;
    let sum2 = 0;
    let contribution = 0;
    const leaves = plan[own + 4] ?? -1;
    if (leaves >= 0) {
      const row = leaves + stand;
      const product0 = work[own] ?? 0;
      const product1 = work[own + 1] ?? 0;
      const product2 = work[own + 2] ?? 0;
      sum0 = product0 * (numbers[row] ?? 0);
      sum1 = product1 * (numbers[row + 1] ?? 0);
      sum2 = product2 * (numbers[row + 2] ?? 0);
      contribution =
        product0 * (numbers[row + 3] ?? 0) + product1 * (numbers[row + 4] ?? 0) + product2 * (numbers[row + 5] ?? 0);
    }
    const first = plan[own] ?? -1;
    if (first >= 0) {
      const row = (plan[own + 2] ?? 0) + stand;
      const below0 = work[first + 3] ?? 0;
      const below1 = work[first + 4] ?? 0;
      const below2 = work[first + 5] ?? 0;
      sum0 += below0;
      sum1 += below1;
      sum2 += below2;
      contribution +=
        below0 * (numbers[row + 3] ?? 0) + below1 * (numbers[row + 4] ?? 0) + below2 * (numbers[row + 5] ?? 0);
    }
    const second = plan[own + 1] ?? -1;
    if (second >= 0) {
      const row = (plan[own + 3] ?? 0) + stand;
      const below0 = work[second + 3] ?? 0;
      const below1 = work[second + 4] ?? 0;
      const below2 = work[second + 5] ?? 0;
      sum0 += below0;
      sum1 += below1;
      sum2 += below2;
      contribution +=
        below0 * (numbers[row + 3] ?? 0) + below1 * (numbers[row + 4] ?? 0) + below2 * (numbers[row + 5] ?? 0);
    }
    work[own + 3] = sum0;
    work[own + 4] = sum1;
    work[own + 5] = sum2;
    const to = outAt + (plan[own + 5] ?? 0);
    out[to] = (out[to] ?? 0) + contribution;
  }
}

/** Like `walkThree`, for two points. */
function walkTwo(
  { plan, numbers }: WalkTable,
  { size, work, standing, out }: Walked,
  standingAt: number,
  outAt: number,
): void {
  work[0] = 1;
  work[1] = 1;
  for (let split = 0; split < size; split += 1) {
    const own = 6 * split;
    const first = plan[own] ?? -1;
    if (first < 0) continue;
    const second = plan[own + 1] ?? -1;
    const stand = 4 * (standing[standingAt + split] ?? 0);
    const product0 = work[4 * split] ?? 0;
    const product1 = work[4 * split + 1] ?? 0;
    let row = (plan[own + 2] ?? 0) + stand;
    work[first] = product0 * (numbers[row] ?? 0);
    work[first + 1] = product1 * (numbers[row + 1] ?? 0);
    if (second < 0) continue;
    row = (plan[own + 3] ?? 0) + stand;
    work[second] = product0 * (numbers[row] ?? 0);
    work[second + 1] = product1 * (numbers[row + 1] ?? 0);
  }
  for (let split = size - 1; split >= 0; split -= 1) {
    const own = 6 * split;
    const stand = 4 * (standing[standingAt + split] ?? 0);
    let sum0 = 0;
    let sum1 = 0;
    let contribution = 0;
    const leaves = plan[own + 4] ?? -1;
    if (leaves >= 0) {
      const row = leaves + stand;
      const product0 = work[4 * split] ?? 0;
      const product1 = work[4 * split + 1] ?? 0;
      sum0 = product0 * (numbers[row] ?? 0);
      sum1 = product1 * (numbers[row + 1] ?? 0);
      contribution = product0 * (numbers[row + 2] ?? 0) + product1 * (numbers[row + 3] ?? 0);
    }
    const first = plan[own] ?? -1;
    if (first >= 0) {
      const row = (plan[own + 2] ?? 0) + stand;
      const below0 = work[first + 2] ?? 0;
      const below1 = work[first + 3] ?? 0;
      sum0 += below0;
      sum1 += below1;
      contribution += below0 * (numbers[row + 2] ?? 0) + below1 * (numbers[row + 3] ?? 0);
    }
    const second = plan[own + 1] ?? -1;
    if (second >= 0) {
      const row = (plan[own + 3] ?? 0) + stand;
      const below0 = work[second + 2] ?? 0;
      const below1 = work[second + 3] ?? 0;
      sum0 += below0;
      sum1 += below1;
      contribution += below0 * (numbers[row + 2] ?? 0) + below1 * (numbers[row + 3] ?? 0);
    }
    work[4 * split + 2] = sum0;
    work[4 * split + 3] = sum1;
    const to = outAt + (plan[own + 5] ?? 0);
    out[to] = (out[to] ?? 0) + contribution;
  }
}

/** Sets each record's standing at each split; `missedAbove` if it left the path above on the same column. */
function decide(tree: WalkedTree, { columns, records, hasMissing }: RecordBlock, standing: Uint8Array): void {
  const { size, input, threshold, isMissingNear, members, ancestor, ancestorSide } = tree;
  const hasSets = members.length > 0;
  for (let split = 0; split < size; split += 1) {
    const column = input[split] ?? 0;
    const start = column * records;
    const set = hasSets ? members[split] : undefined;
    if (set !== undefined) {
      const ofMissing = isMissingNear[split] ?? 0;
      let at = split;
      for (let record = start; record < start + records; record += 1) {
        const value = columns[record] ?? Number.NaN;
        standing[at] = Number.isNaN(value) ? ofMissing : +isAmong(set, value);
        at += size;
      }
    } else {
      const limit = threshold[split] ?? 0;
      let at = split;
      // The comparison is 0 or 1, the far or near side; a branch would be mispredicted half of the time.
      for (let record = start; record < start + records; record += 1) {
        standing[at] = +((columns[record] ?? 0) <= limit);
        at += size;
      }
      if (hasMissing[column] !== 0 && isMissingNear[split] !== 0) {
        for (let record = 0; record < records; record += 1)
          if (Number.isNaN(columns[start + record])) standing[split + record * size] = 1;
      }
    }
    const above = ancestor[split] ?? -1;
    if (above < 0) continue;
    const taken = ancestorSide[split] ?? 0;
    for (let at = 0; at < size * records; at += size)
      if (standing[at + above] !== taken) standing[at + split] = missedAbove;
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
