import { gaussLegendre, type Quadrature } from './gauss-legendre.js';
import { FAR, NEAR, type Side, type Split, type SplitTree } from './split-tree.js';

/** How a record stands at a split: it goes to the far side, to the near side, or an edge above on the same column was missed. */
export const MISSED_ABOVE = 2;

/**
 * The numbers that walking a tree multiplies with, for two or three points of the quadrature. A row holds, for each
 * point, a factor C and then for each point a weight G; rows of one split or edge follow one another by how the record
 * stands at the split: FAR, NEAR and, where a column was met before, MISSED_ABOVE.
 */
export interface WalkTable {
  readonly points: 2 | 3;
  /** Rows of the edges between splits. */
  readonly edges: Float64Array;
  /** Rows of the leaves of a split, both in one: the leaf's value times C, and times C and G. */
  readonly leaves: Float64Array;
}

/** Where a tree's rows are. */
export interface RowPlan {
  /** First row of the edge that leads to each split (its own standing is that of its parent); -1 for the root. */
  readonly edgeRow: Int32Array;
  /** First row of each split's leaves; -1 where there are none. */
  readonly leafRow: Int32Array;
  readonly edgeRows: number;
  readonly leafRows: number;
}

/** How many standings a split has. */
const standings = (split: Split): number => (split.ancestor < 0 ? 2 : 3);

/** Lays out the rows of a tree. */
export function planRows({ splits }: SplitTree): RowPlan {
  const edgeRow = new Int32Array(splits.length).fill(-1);
  const leafRow = new Int32Array(splits.length).fill(-1);
  let edgeRows = 0;
  let leafRows = 0;
  for (const [index, split] of splits.entries()) {
    const above = splits[split.parent];
    if (above !== undefined) {
      edgeRow[index] = edgeRows;
      edgeRows += standings(above);
    }
    if (split.leaves.some((leaf) => leaf !== undefined)) {
      leafRow[index] = leafRows;
      leafRows += standings(split);
    }
  }
  return { edgeRow, leafRow, edgeRows, leafRows };
}

/** Points per table such that together they are at least ⌈columns / 2⌉: exact, as the integrand has degree columns - 1. */
export function tableWidths(mostColumns: number): (2 | 3)[] {
  const widths: (2 | 3)[] = [];
  for (let left = Math.ceil(mostColumns / 2); left > 0; left -= widths.at(-1) ?? left)
    widths.push(left <= 2 || left === 4 ? 2 : 3);
  return widths;
}

/** How many numbers the tables of a tree hold. */
export function tableNumbers(widths: readonly number[], { edgeRows, leafRows }: RowPlan): number {
  const points = widths.reduce((sum, width) => sum + width, 0);
  return 2 * points * (edgeRows + leafRows);
}

/**
 * The tables of one tree.
 *
 * The contribution of a column with product of shares Z and o = 1 if the record takes all its edges, else 0, to a leaf of
 * value v is the integral over t of v * (o - Z) * Π A(other columns), A(o, Z) = Z + t(o - Z): the Shapley value in the
 * form of Owen's multilinear extension, a polynomial in t. Going down one more edge of the column multiplies the product
 * by C = A(o, Z) / A(o', Z'), primes for the edges above, and adds G = w * (g(o, Z) - g(o', Z')), g = (o - Z) / A, to the
 * weight of all leaves below. Source: Quadrature TreeSHAP, arXiv 2605.04497.
 */
export function walkTables(tree: SplitTree, plan: RowPlan, widths: readonly (2 | 3)[]): WalkTable[] {
  const all = gaussLegendre(widths.reduce<number>((sum, width) => sum + width, 0));
  let first = 0;
  return widths.map((points) => {
    const quadrature = {
      nodes: all.nodes.subarray(first, first + points),
      weights: all.weights.subarray(first, first + points),
    };
    first += points;
    return walkTable(tree, { plan, points, quadrature });
  });
}

function walkTable(
  { splits }: SplitTree,
  by: { readonly plan: RowPlan; readonly points: 2 | 3; readonly quadrature: Quadrature },
): WalkTable {
  const { plan, points, quadrature } = by;
  const rowLength = 2 * points;
  const edges = new Float64Array(plan.edgeRows * rowLength);
  const leaves = new Float64Array(plan.leafRows * rowLength);
  for (const [index, split] of splits.entries()) {
    const above = splits[split.parent];
    if (above !== undefined) {
      for (let standing = 0; standing < standings(above); standing += 1) {
        const start = ((plan.edgeRow[index] ?? 0) + standing) * rowLength;
        for (let point = 0; point < points; point += 1) {
          const { factor, weight } = edgeNumbers(above, { side: split.side, standing, point, quadrature });
          edges[start + point] = factor;
          edges[start + points + point] = weight;
        }
      }
    }
    for (const side of [FAR, NEAR] as const) {
      const value = split.leaves[side];
      if (value === undefined) continue;
      for (let standing = 0; standing < standings(split); standing += 1) {
        const start = ((plan.leafRow[index] ?? 0) + standing) * rowLength;
        for (let point = 0; point < points; point += 1) {
          const { factor, weight } = edgeNumbers(split, { side, standing, point, quadrature });
          leaves[start + point] = (leaves[start + point] ?? 0) + value * factor;
          leaves[start + points + point] = (leaves[start + points + point] ?? 0) + value * factor * weight;
        }
      }
    }
  }
  return { points, edges, leaves };
}

/** C and G of the edge from a split to one of its sides, at one point. */
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
  if (at.standing === MISSED_ABOVE) return { factor: share, weight: 0 };
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
