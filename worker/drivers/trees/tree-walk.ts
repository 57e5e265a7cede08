import type { WalkedTree } from '../prepared-trees.js';
import { missedAbove, type WalkTable } from './walk-tables.js';

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
  /** By split: for each point the product of the factors on the way down, then the sum of what lies below. */
  private readonly work: Float64Array;

  /** @param options `largest`: the most splits of one tree; `records`: the most records of one block */
  constructor({ largest, records }: { readonly largest: number; readonly records: number }) {
    this.standing = new Uint8Array(largest * records);
    this.work = new Float64Array(6 * largest);
  }

  /** Adds what one tree contributes for each record of a block. */
  addTree(tree: WalkedTree, block: RecordBlock, target: ContributionTarget): void {
    decide(tree, block, this.standing);
    const walked = { size: tree.size, work: this.work, standing: this.standing, out: target.out };
    for (const table of tree.tables) {
      const walk = table.points === 3 ? walkThree : walkTwo;
      for (let record = 0; record < block.records; record += 1)
        walk(table, walked, record * tree.size, target.first + record * target.fields);
    }
  }
}

/** What a walk reads and writes beside its table. */
interface Walked {
  readonly size: number;
  readonly work: Float64Array;
  readonly standing: Uint8Array;
  readonly out: Float64Array;
}

/**
 * The innermost loop, for three points: unrolled, with few arrays (each costs registers), and reading the sums of the
 * splits below rather than adding to the one above. The places in the plan are those of `planLayout`.
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
        product0 * (numbers[row + 3] ?? 0) +
        product1 * (numbers[row + 4] ?? 0) +
        product2 * (numbers[row + 5] ?? 0);
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
        below0 * (numbers[row + 3] ?? 0) +
        below1 * (numbers[row + 4] ?? 0) +
        below2 * (numbers[row + 5] ?? 0);
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
        below0 * (numbers[row + 3] ?? 0) +
        below1 * (numbers[row + 4] ?? 0) +
        below2 * (numbers[row + 5] ?? 0);
    }
    work[own + 3] = sum0;
    work[own + 4] = sum1;
    work[own + 5] = sum2;
    const to = outAt + (plan[own + 5] ?? 0);
    out[to] = (out[to] ?? 0) + contribution;
  }
}

/** The same for two points. */
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

/** Where each record goes at each split; missedAbove where it left the way on the same column before. */
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
      // Comparing gives 0 or 1, the far and the near side; a branch would be mispredicted half of the time.
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
