import { farSide, nearSide, type Side, type Split, type SplitTree } from './split-tree.js';

/** Third standing besides `farSide` and `nearSide`: the record missed an edge above on the same column. */
export const missedAbove = 2;

/**
 * The factors of a tree walk, for two or three quadrature points. A row of `numbers` holds a factor C for each point,
 * then a weight G for each point. An edge, or the leaves of a split, have one row per standing of the record:
 * `farSide`, `nearSide` and, if the column occurred above, `missedAbove`.
 */
export interface WalkTable {
  readonly points: 2 | 3;
  readonly numbers: Float64Array;
  /** Six integers per split, see `planLayout`. */
  readonly plan: Int32Array;
}

/** Layout of a split's entry in the plan. */
const planLayout = {
  /** Index of the products and sums of the child splits (-1: none), and first row of the edges to them. */
  first: 0,
  second: 1,
  rowOfFirst: 2,
  rowOfSecond: 3,
  /** First row of its leaves (-1: none). */
  rowOfLeaves: 4,
  /** The field of its column. */
  field: 5,
  length: 6,
};

/** Position of a tree's rows, counted in rows. */
export interface RowPlan {
  /** First row of the edge to each split; -1 for the root. */
  readonly edgeRow: Int32Array;
  /** First row of each split's leaves: the sum of value * C, then of value * C * G; -1 without leaves. */
  readonly leafRow: Int32Array;
  readonly rows: number;
}

/** Number of standings that a split has. */
const standings = (split: Split): number => (split.ancestor < 0 ? 2 : 3);

/** Lays out the rows of a tree. */
export function planRows({ splits }: SplitTree): RowPlan {
  const edgeRow = new Int32Array(splits.length).fill(-1);
  const leafRow = new Int32Array(splits.length).fill(-1);
  let rows = 0;
  for (const [index, split] of splits.entries()) {
    const above = splits[split.parent];
    if (above !== undefined) {
      edgeRow[index] = rows;
      rows += standings(above);
    }
    if (split.leaves.some((leaf) => leaf !== undefined)) {
      leafRow[index] = rows;
      rows += standings(split);
    }
  }
  return { edgeRow, leafRow, rows };
}

/** Points per table. A total of ⌈columns / 2⌉ is exact, because the integrand has degree columns - 1. */
export function tableWidths(maxColumns: number): (2 | 3)[] {
  const widths: (2 | 3)[] = [];
  for (let left = Math.ceil(maxColumns / 2); left > 0; left -= widths.at(-1) ?? left)
    widths.push(left <= 2 || left === 4 ? 2 : 3);
  return widths;
}

/** Size of a tree's tables in numbers. */
export function tableNumbers(widths: readonly number[], { rows }: RowPlan): number {
  return 2 * rows * widths.reduce((sum, width) => sum + width, 0);
}

/**
 * The tables of one tree.
 *
 * The contribution of a column at a leaf of value v is ∫ v * (o - Z) * Π A(other columns) dt over [0, 1].
 * - Z is the product of the column's shares on the path.
 * - o is 1 if the record takes all edges of the column, else 0.
 * - A(o, Z) = Z + t(o - Z).
 *
 * This is the Shapley value in the form of Owen's multilinear extension, a polynomial in t.
 *
 * One more edge of the column has two effects; primes denote the edges above.
 * - It multiplies the product by C = A(o, Z) / A(o', Z').
 * - It adds G = w * (g(o, Z) - g(o', Z')) to the weight of all leaves below, with g = (o - Z) / A.
 *
 * Source: Quadrature TreeSHAP, arXiv 2605.04497.
 */
export function walkTables(
  tree: SplitTree,
  of: {
    readonly rows: RowPlan;
    readonly widths: readonly (2 | 3)[];
    readonly fieldOf: (column: number) => number;
  },
): WalkTable[] {
  const { rows, widths, fieldOf } = of;
  const all = gaussLegendre(widths.reduce<number>((sum, width) => sum + width, 0));
  let first = 0;
  return widths.map((points) => {
    const quadrature = {
      nodes: all.nodes.subarray(first, first + points),
      weights: all.weights.subarray(first, first + points),
    };
    first += points;
    return {
      points,
      plan: walkPlan(tree, { rows, points, fieldOf }),
      numbers: walkNumbers(tree, rows, quadrature),
    };
  });
}

function walkPlan(
  { splits }: SplitTree,
  of: { readonly rows: RowPlan; readonly points: number; readonly fieldOf: (column: number) => number },
): Int32Array {
  const stride = 2 * of.points;
  const { edgeRow, leafRow } = of.rows;
  const plan = new Int32Array(planLayout.length * splits.length).fill(-1);
  for (const [index, split] of splits.entries()) {
    const own = planLayout.length * index;
    plan[own + planLayout.field] = of.fieldOf(split.column);
    const leaves = leafRow[index] ?? -1;
    if (leaves >= 0) plan[own + planLayout.rowOfLeaves] = stride * leaves;
    if (split.parent < 0) continue;
    const above = planLayout.length * split.parent;
    const isFirst = plan[above + planLayout.first] === -1;
    plan[above + (isFirst ? planLayout.first : planLayout.second)] = stride * index;
    plan[above + (isFirst ? planLayout.rowOfFirst : planLayout.rowOfSecond)] = stride * (edgeRow[index] ?? 0);
  }
  return plan;
}

function walkNumbers({ splits }: SplitTree, rows: RowPlan, quadrature: Quadrature): Float64Array {
  const points = quadrature.nodes.length;
  const stride = 2 * points;
  const numbers = new Float64Array(rows.rows * stride);
  for (const [index, split] of splits.entries()) {
    const above = splits[split.parent];
    for (let standing = 0; above !== undefined && standing < standings(above); standing += 1) {
      const start = ((rows.edgeRow[index] ?? 0) + standing) * stride;
      for (let point = 0; point < points; point += 1) {
        const { factor, weight } = edgeNumbers(above, { side: split.side, standing, point, quadrature });
        numbers[start + point] = factor;
        numbers[start + points + point] = weight;
      }
    }
    for (const side of [farSide, nearSide] as const) {
      const value = split.leaves[side];
      if (value === undefined) continue;
      for (let standing = 0; standing < standings(split); standing += 1) {
        const start = ((rows.leafRow[index] ?? 0) + standing) * stride;
        for (let point = 0; point < points; point += 1) {
          const { factor, weight } = edgeNumbers(split, { side, standing, point, quadrature });
          numbers[start + point] = (numbers[start + point] ?? 0) + value * factor;
          numbers[start + points + point] = (numbers[start + points + point] ?? 0) + value * factor * weight;
        }
      }
    }
  }
  return numbers;
}

/** Factor C and weight G of the edge from a split to one side, at one point. */
function edgeNumbers(
  split: Split,
  at: {
    readonly side: Side;
    readonly standing: number;
    readonly point: number;
    readonly quadrature: Quadrature;
  },
): { factor: number; weight: number } {
  const t = at.quadrature.nodes[at.point] ?? 0;
  const w = at.quadrature.weights[at.point] ?? 0;
  const share = split.shares[at.side];
  if (at.standing === missedAbove) return { factor: share, weight: 0 };
  const before = split.before;
  const after = share * before;
  const averageBefore = before + t * (1 - before);
  const gainBefore = (1 - before) / averageBefore;
  if (at.standing === at.side) {
    const average = after + t * (1 - after);
    return { factor: average / averageBefore, weight: w * ((1 - after) / average - gainBefore) };
  }
  return { factor: (after * (1 - t)) / averageBefore, weight: w * (-1 / (1 - t) - gainBefore) };
}

/** Points in (0, 1) and their weights, which add up to 1. */
export interface Quadrature {
  readonly nodes: Float64Array;
  readonly weights: Float64Array;
}

/**
 * The Gauss-Legendre quadrature on (0, 1), exact for polynomials up to degree 2 * count - 1. The points are the roots
 * of the Legendre polynomial, found by Newton's method from Tricomi's initial guess.
 * @param count number of points, at least 1
 */
export function gaussLegendre(count: number): Quadrature {
  const nodes = new Float64Array(count);
  const weights = new Float64Array(count);
  for (let index = 0; index < count; index += 1) {
    let root = Math.cos((Math.PI * (index + 0.75)) / (count + 0.5));
    let slope = 1;
    for (let step = 0; step < 100; step += 1) {
      const found = legendre(count, root);
      slope = found.slope;
      const change = found.value / slope;
      root -= change;
      if (Math.abs(change) < 1e-16) break;
    }
    slope = legendre(count, root).slope;
    nodes[index] = (1 + root) / 2;
    weights[index] = 1 / ((1 - root * root) * slope * slope);
  }
  return { nodes, weights };
}

function legendre(degree: number, at: number): { value: number; slope: number } {
  let before = 1;
  let value = at;
  for (let n = 2; n <= degree; n += 1) {
    const next = ((2 * n - 1) * at * value - (n - 1) * before) / n;
    before = value;
    value = next;
  }
  return { value, slope: (degree * (at * value - before)) / (at * at - 1) };
}
