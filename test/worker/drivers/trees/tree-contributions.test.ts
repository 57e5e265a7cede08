import { expect } from 'chai';
import fc from 'fast-check';
import { logOdds } from '../../../../worker/drivers/contributions.js';
import { explainRow, regressor } from '../explained-model.js';
import { isLeaf, type TestNode, type TestSplit, testRow, testTree } from '../test-trees.js';
import { treeShapley } from './brute-force.js';

const columns = 5;

async function expectShapley(trees: readonly TestNode[], row: readonly number[]): Promise<void> {
  const expected = treeShapley(trees, row);
  const found = await explainRow(regressor(trees, row.length), row);
  expect(found.base).to.be.closeTo(expected.base, 1e-9);
  for (const [column, contribution] of expected.contributions.entries())
    expect(found.contributions[column], `column ${column}`).to.be.closeTo(contribution, 1e-9);
}

const split = (of: Partial<TestSplit> & Pick<TestSplit, 'yes' | 'no'>): TestSplit => ({
  mode: 'BRANCH_LEQ',
  column: 0,
  threshold: 0,
  missingIsYes: false,
  cover: of.yes.cover + of.no.cover,
  ...of,
});

describe('explainTrees', () => {
  it('returns the Shapley values by definition for random trees with all modes', async () => {
    const trees = fc.array(testTree({ columns, depth: 4 }), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(trees, testRow(columns), (drawn, row) => expectShapley(drawn, row)),
      { numRuns: 150 },
    );
  });

  it('returns the Shapley values of deep trees that split the same columns repeatedly', async () => {
    await fc.assert(
      fc.asyncProperty(testTree({ columns: 2, depth: 7 }), testRow(2), (tree, row) => expectShapley([tree], row)),
      { numRuns: 60 },
    );
  });

  it('returns the Shapley values of paths with up to 11 distinct columns', async () => {
    for (const depth of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]) {
      let tree: TestNode = { value: 1, cover: 1 };
      for (let column = 0; column < depth; column += 1)
        tree = split({ column, yes: tree, no: { value: -column / 4, cover: column + 1 } });
      const row = Array.from({ length: depth }, (_, column) => (column % 3) - 1);
      await expectShapley([tree], row);
    }
  });

  it('returns zeros for a tree of one leaf, whose value is in the base', async () => {
    const found = await explainRow(regressor([{ value: 0.75, cover: 10 }], 3), [1, 2, 3]);
    expect(found).to.deep.equal({ contributions: [0, 0, 0], base: 0.75 });
  });

  it('returns the reached leaf minus the mean for a tree of one split', async () => {
    const stump = split({
      column: 1,
      threshold: 2,
      yes: { value: 1, cover: 30 },
      no: { value: -1, cover: 10 },
    });
    const found = await explainRow(regressor([stump], 2), [0, 2]);
    expect(found.base).to.be.closeTo(0.5, 1e-12);
    expect(found.contributions[0]).to.equal(0);
    expect(found.contributions[1]).to.be.closeTo(0.5, 1e-12);
  });

  it('follows the missing bit for NaN', async () => {
    for (const missingIsYes of [true, false]) {
      const stump = split({ missingIsYes, yes: { value: 1, cover: 20 }, no: { value: -1, cover: 20 } });
      const found = await explainRow(regressor([stump], 1), [Number.NaN]);
      expect(found.contributions[0]).to.be.closeTo(missingIsYes ? 1 : -1, 1e-12);
    }
  });

  it('compares values and thresholds in float32', async () => {
    const stump = split({
      mode: 'BRANCH_LT',
      threshold: Math.fround(0.1),
      yes: { value: 1, cover: 20 },
      no: { value: -1, cover: 20 },
    });
    expect((await explainRow(regressor([stump], 1), [0.1])).contributions[0]).to.be.closeTo(-1, 1e-12);
    const justBelow = [0.1 - 2 ** -27];
    expect((await explainRow(regressor([stump], 1), justBelow)).contributions[0]).to.be.closeTo(1, 1e-12);
  });

  it('returns finite contributions for branches without training rows', async () => {
    const never = split({ column: 1, yes: { value: 4, cover: 0 }, no: { value: 2, cover: 0 } });
    const tree = split({ column: 0, yes: never, no: { value: -1, cover: 50 } });
    for (const row of [
      [-1, -1],
      [-1, 1],
      [1, 1],
    ])
      await expectShapley([tree], row);
  });

  it('treats a chain of BRANCH_EQ with a shared subtree as one split on a set', async () => {
    const shared = split({ column: 1, yes: { value: 2, cover: 30 }, no: { value: 1, cover: 30 } });
    const rest: TestNode = { value: -1, cover: 40 };
    const chain = [3, 5, 8].reduceRight<TestNode>(
      (no, threshold, index) =>
        split({ mode: 'BRANCH_EQ', threshold, yes: shared, no, cover: [100, 80, 60][index] ?? 0 }),
      rest,
    );
    for (const value of [3, 5, 8, 4, Number.NaN]) await expectShapley([chain], [value, 1]);
    const { contributions, base } = await explainRow(regressor([chain], 2), [8, 1]);
    // 60 of 100 rows are in the set, so the mean is 0.6 * 1.5 - 0.4 = 0.5.
    expect(base).to.be.closeTo(0.5, 1e-6);
    expect((contributions[0] ?? 0) + (contributions[1] ?? 0)).to.be.closeTo(0.5, 1e-6);
  });

  it('unfolds other shared nodes path by path', async () => {
    const shared: TestNode = split({ column: 2, yes: { value: 1, cover: 20 }, no: { value: 3, cover: 20 } });
    const left = split({
      mode: 'BRANCH_EQ',
      column: 1,
      threshold: 4,
      yes: shared,
      no: { value: 0, cover: 40 },
      cover: 60,
    });
    const tree = split({ mode: 'BRANCH_EQ', column: 0, threshold: 2, yes: shared, no: left, cover: 80 });
    for (const row of [
      [2, 4, 1],
      [0, 4, 1],
      [0, 0, -1],
    ])
      await expectShapley([tree], row);
  });
});

const forestColumns = 4;

/** A copy of a tree with values between 0.05 and 0.95, divided by the number of trees. */
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
  .array(testTree({ columns: forestColumns, depth: 3 }), { minLength: 1, maxLength: 4 })
  .map((trees) => trees.map((tree) => asProbabilities(tree, trees.length)));
const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

describe('explainTrees for a forest, which averages probabilities', () => {
  it('scales contributions to the probability by one factor, so that they add up in log-odds', async () => {
    await fc.assert(
      fc.asyncProperty(forests, testRow(forestColumns), async (forest, row) => {
        const plain = treeShapley(forest, row);
        const raw = plain.base + sumOf(plain.contributions);
        fc.pre(Math.abs(raw - plain.base) > 1e-6);
        const found = await explainRow(regressor(forest, forestColumns), row, { isProbability: true });
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

  it('does not scale contributions if the probability equals the mean', async () => {
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

  it('returns finite contributions for forest probabilities of 0 and 1', async () => {
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
