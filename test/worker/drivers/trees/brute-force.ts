import { goesYes, isLeaf, type TestNode } from '../test-trees.js';

/**
 * The expected output of a tree when only some columns are known. At a split on an unknown column both branches count
 * by their share of the rows (path-dependent, like shap's TreeExplainer).
 */
function expectedValue(node: TestNode, row: readonly number[], known: (column: number) => boolean): number {
  if (isLeaf(node)) return node.value;
  const value = row[node.column] ?? Number.NaN;
  if (known(node.column)) return expectedValue(goesYes(node, value) ? node.yes : node.no, row, known);
  const share = node.cover === 0 ? 0.5 : node.no.cover / node.cover;
  return share * expectedValue(node.no, row, known) + (1 - share) * expectedValue(node.yes, row, known);
}

/**
 * Shapley values by definition, over all subsets of the columns.
 * @param worthOf the game: the value of a set of known columns, given as bits
 */
function shapleyValues(columns: number, worthOf: (known: number) => number): number[] {
  const values = Array.from({ length: 2 ** columns }, (_, known) => worthOf(known));
  const factorial = (n: number): number => (n <= 1 ? 1 : n * factorial(n - 1));
  return Array.from({ length: columns }, (_, column) => {
    let total = 0;
    for (const [known, value] of values.entries()) {
      if ((known >> column) & 1) continue;
      const size = known.toString(2).replaceAll('0', '').length;
      const weight = (factorial(size) * factorial(columns - size - 1)) / factorial(columns);
      total += weight * ((values[known | (1 << column)] ?? Number.NaN) - value);
    }
    return total;
  });
}

/** Path-dependent Shapley values of a sum of trees, and the expected value. */
export function treeShapley(
  trees: readonly TestNode[],
  row: readonly number[],
): { contributions: number[]; base: number } {
  const worthOf = (known: number): number =>
    trees.reduce((sum, tree) => sum + expectedValue(tree, row, (column) => ((known >> column) & 1) === 1), 0);
  return { contributions: shapleyValues(row.length, worthOf), base: worthOf(0) };
}
