import { expect } from 'chai';
import { logistic } from '../../../../worker/drivers/contributions.js';
import { ints, type SampleAttribute, type SampleModel } from '../../../support/models/sample-onnx.js';
import { compiled, numbersManifest } from '../compiled.js';
import { graphModel, learned } from '../explained-model.js';
import type { TestNode, TestSplit } from '../test-trees.js';
import { treeShapley } from '../trees/brute-force.js';

const [floatType, uint8Type] = [1, 2];
const explain = { kind: 'tree', covers: 'covers.f32' } as const;

const tensor = (name: string, dataType: number, values: readonly number[]): SampleAttribute => ({
  name,
  type: 4,
  t: {
    name,
    dims: [values.length],
    dataType,
    ...(dataType === uint8Type ? { int32Data: [...values] } : { floatData: [...values] }),
  },
});
const integer = (name: string, value: number): SampleAttribute => ({ name, type: 2, i: value });

interface Splits {
  readonly features: number[];
  /** 0 LEQ, 1 LT, 2 GTE, 3 GT, 4 EQ, 5 NEQ, 6 MEMBER. */
  readonly modes: number[];
  readonly splits: number[];
  readonly missing: number[];
  /** A negative child n is the leaf -1 - n. */
  readonly yes: number[];
  readonly no: number[];
  readonly leaves: number[];
  readonly roots: number[];
  readonly members?: number[];
}

function ensemble(of: Splits, more: SampleAttribute[] = []): SampleModel {
  const ids = (children: readonly number[]) => children.map((child) => (child < 0 ? -1 - child : child));
  const areLeaves = (children: readonly number[]) => children.map((child) => (child < 0 ? 1 : 0));
  const attributes = [
    ints('nodes_featureids', of.features),
    tensor('nodes_modes', uint8Type, of.modes),
    tensor('nodes_splits', floatType, of.splits),
    ints('nodes_missing_value_tracks_true', of.missing),
    ints('nodes_truenodeids', ids(of.yes)),
    ints('nodes_trueleafs', areLeaves(of.yes)),
    ints('nodes_falsenodeids', ids(of.no)),
    ints('nodes_falseleafs', areLeaves(of.no)),
    ints(
      'leaf_targetids',
      of.leaves.map(() => 0),
    ),
    tensor('leaf_weights', floatType, of.leaves),
    ints('tree_roots', of.roots),
    integer('n_targets', 1),
    ...(of.members === undefined ? [] : [tensor('membership_values', floatType, of.members)]),
    ...more,
  ];
  return graphModel([learned('TreeEnsemble', attributes)], { width: 2, ml: 5 });
}

/** Two trees: x0 <= 1 ? -1 : (x1 in {2, 5} ? 0.5 : 2), and x1 > 3 ? 1 : -0.5. */
const two: Splits = {
  features: [0, 1, 1],
  modes: [0, 6, 3],
  splits: [1, 0, 3],
  missing: [1, 0, 1],
  yes: [-1, -2, -4],
  no: [1, -3, -5],
  leaves: [-1, 0.5, 2, 1, -0.5],
  roots: [0, 2],
  members: [2, 5, Number.NaN],
};
const twoCovers = [80, 60, 80, 20, 45, 15, 30, 50];

const leaf = (value: number, cover: number): TestNode => ({ value, cover });
const member = (threshold: number, cover: number, yes: TestNode, no: TestNode): TestSplit => ({
  mode: 'BRANCH_EQ',
  column: 1,
  threshold,
  missingIsYes: false,
  yes,
  no,
  cover,
});
const among = leaf(0.5, 45);
const twoTrees: TestNode[] = [
  {
    mode: 'BRANCH_LEQ',
    column: 0,
    threshold: 1,
    missingIsYes: true,
    cover: 80,
    yes: leaf(-1, 20),
    no: member(2, 60, among, member(5, 40, among, leaf(2, 15))),
  },
  {
    mode: 'BRANCH_GT',
    column: 1,
    threshold: 3,
    missingIsYes: true,
    cover: 80,
    yes: leaf(1, 30),
    no: leaf(-0.5, 50),
  },
];

const rows = [
  [0, 2],
  [3, 5],
  [3, 4],
  [Number.NaN, 2],
  [3, Number.NaN],
];

describe('readTreeEnsemble5', () => {
  it('returns the Shapley values of ai.onnx.ml 5 trees with value sets and separate leaves', async () => {
    const manifest = numbersManifest(2, { kind: 'logit', explain });
    const { explanation, explain: explainRows } = await compiled(ensemble(two), manifest, {
      covers: twoCovers,
    });
    expect(explanation.fallbackReason).to.equal(undefined);
    for (const [index, found] of (await explainRows(rows)).entries()) {
      const expected = treeShapley(twoTrees, rows[index] ?? []);
      expect(explanation.base).to.be.closeTo(expected.base, 1e-9);
      for (const [column, contribution] of expected.contributions.entries())
        expect(found[column], `row ${index}, column ${column}`).to.be.closeTo(contribution, 1e-9);
    }
  });

  const forms: Readonly<Record<string, readonly [SampleModel, readonly number[]]>> = {
    'the sum of the trees': [ensemble(two), twoCovers],
    'their average': [ensemble(two, [integer('aggregate_function', 0)]), twoCovers],
    'a post-transform of one target, which ONNX Runtime ignores': [
      ensemble(two, [integer('post_transform', 2)]),
      twoCovers,
    ],
    'a tree of one leaf': [
      ensemble({
        features: [0],
        modes: [0],
        splits: [0],
        missing: [0],
        yes: [-1],
        no: [-1],
        leaves: [0.75],
        roots: [0],
      }),
      [10, 10],
    ],
    'the modes below, at least, above and unequal': [
      ensemble({
        features: [0, 0, 1, 1],
        modes: [1, 2, 3, 5],
        splits: [3, 3, 2, 4],
        missing: [0, 1, 1, 0],
        yes: [-1, -2, -3, -4],
        no: [1, 2, 3, -5],
        leaves: [1, 2, 4, 8, 16],
        roots: [0],
      }),
      [50, 40, 30, 20, 10, 10, 10, 10, 10],
    ],
  };
  for (const [name, [model, covers]] of Object.entries(forms))
    it(`reads ai.onnx.ml 5 trees like ONNX Runtime: ${name}`, async () => {
      const manifest = numbersManifest(2, { kind: 'logit', explain });
      const { explanation, session, explain: explainRows } = await compiled(model, manifest, { covers });
      expect(explanation.fallbackReason).to.equal(undefined);
      const raw = await session.run(Float32Array.from(rows.flat()), rows.length);
      for (const [row, contributions] of (await explainRows(rows)).entries()) {
        const margin = contributions.reduce((sum, part) => sum + part, explanation.base ?? Number.NaN);
        expect(logistic(margin), `row ${row}`).to.be.closeTo(raw[row] ?? Number.NaN, 1e-6);
      }
    });

  it('falls back to occlusion for ai.onnx.ml 5 trees that are aggregated by MAX', async () => {
    const manifest = numbersManifest(2, { kind: 'logit', explain });
    const { explanation } = await compiled(ensemble(two, [integer('aggregate_function', 3)]), manifest, {
      covers: twoCovers,
    });
    expect(explanation.explainer.method).to.equal('occlusion');
    expect(explanation.fallbackReason).to.match(/combined by MAX/);
  });
});
