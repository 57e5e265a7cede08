import { expect } from 'chai';
import fc from 'fast-check';
import { logOdds } from '../../../worker/drivers/log-odds.js';
import { treeShapley } from './brute-force.js';
import { explainRow, regressor } from './explained-model.js';
import { isLeaf, type TestNode, testRow, testTree } from './test-trees.js';

const columns = 4;

/** The same tree with values between 0.05 and 0.95, a share of a forest. */
function asProbabilities(tree: TestNode, trees: number): TestNode {
  const copies = new Map<TestNode, TestNode>();
  const copy = (node: TestNode): TestNode => {
    const known = copies.get(node);
    if (known !== undefined) return known;
    const made = isLeaf(node)
      ? { ...node, value: Math.fround((0.5 + 0.225 * node.value) / trees) }
      : { ...node, yes: copy(node.yes), no: copy(node.no) };
    copies.set(node, made);
    return made;
  };
  return copy(tree);
}

const forests = fc
  .array(testTree({ columns, depth: 3 }), { minLength: 1, maxLength: 4 })
  .map((trees) => trees.map((tree) => asProbabilities(tree, trees.length)));
const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

describe('contributions to a forest, which averages probabilities', () => {
  it('are those to the probability, all scaled by one factor so that they add up in log-odds', async () => {
    await fc.assert(
      fc.asyncProperty(forests, testRow(columns), async (forest, row) => {
        const plain = treeShapley(forest, row);
        const raw = plain.base + sumOf(plain.contributions);
        fc.pre(Math.abs(raw - plain.base) > 1e-6);
        const found = await explainRow(regressor(forest, columns), row, { isProbability: true });
        expect(found.base).to.be.closeTo(logOdds(plain.base), 1e-9);
        expect(found.base + sumOf(found.contributions)).to.be.closeTo(logOdds(raw), 1e-6);
        const factor = (logOdds(raw) - logOdds(plain.base)) / (raw - plain.base);
        expect(factor).to.be.greaterThan(0);
        for (const [column, contribution] of plain.contributions.entries())
          expect(found.contributions[column]).to.be.closeTo(contribution * factor, 1e-6);
      }),
      { numRuns: 80 },
    );
  });

  it('are not scaled where the probability is the mean: nothing says by how much', async () => {
    const leaf = (value: number): TestNode => ({ value, cover: 10 });
    const split = (column: number, yes: TestNode, no: TestNode): TestNode => ({
      mode: 'BRANCH_LEQ',
      column,
      threshold: 0,
      missingIsYes: false,
      yes,
      no,
      cover: yes.cover + no.cover,
    });
    const forest = [split(0, leaf(0.25), leaf(0)), split(1, leaf(0.5), leaf(0.75))];
    const found = await explainRow(regressor(forest, 2), [0, 0], { isProbability: true });
    expect(found.contributions[0]).to.be.closeTo(0.125, 1e-12);
    expect(found.contributions[1]).to.be.closeTo(-0.125, 1e-12);
  });

  it('stay finite where the probability is 0 or 1', async () => {
    const forest: TestNode[] = [
      {
        mode: 'BRANCH_LEQ',
        column: 0,
        threshold: 0,
        missingIsYes: false,
        yes: { value: 1, cover: 10 },
        no: { value: 0, cover: 30 },
        cover: 40,
      },
    ];
    const certain = await explainRow(regressor(forest, 1), [0], { isProbability: true });
    expect(certain.base + (certain.contributions[0] ?? 0)).to.be.closeTo(logOdds(1), 1e-9);
    const impossible = await explainRow(regressor(forest, 1), [1], { isProbability: true });
    expect(impossible.base + (impossible.contributions[0] ?? 0)).to.be.closeTo(logOdds(0), 1e-9);
    expect(logOdds(1)).to.be.closeTo(16.118, 0.001);
  });
});
