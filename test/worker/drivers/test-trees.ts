import fc from 'fast-check';
import { floats, ints, type SampleAttribute, strings } from '../../support/models/sample-onnx.js';

/** A tree in memory. Nodes may share children. */
export type TestNode = TestLeaf | TestSplit;

export interface TestLeaf {
  readonly value: number;
  readonly cover: number;
}

export interface TestSplit {
  readonly mode: Mode;
  readonly column: number;
  readonly threshold: number;
  readonly missingIsYes: boolean;
  readonly yes: TestNode;
  readonly no: TestNode;
  readonly cover: number;
}

const modes = ['BRANCH_LEQ', 'BRANCH_LT', 'BRANCH_GTE', 'BRANCH_GT', 'BRANCH_EQ', 'BRANCH_NEQ'] as const;
type Mode = (typeof modes)[number];

export const isLeaf = (node: TestNode): node is TestLeaf => 'value' in node;

/** Thresholds of the splits. Rows contain these values and others. */
const thresholds = [-1, 0, Math.fround(0.1), 1, 2.5];
const rowValues = [...thresholds, -3, 0.5, 2, 7, Number.NaN];

/** A row of `columns` values, as float32. */
export const testRow = (columns: number): fc.Arbitrary<number[]> =>
  fc.array(fc.constantFrom(...rowValues), { minLength: columns, maxLength: columns });

/** A tree before covers are assigned from the root down. */
type Plan =
  | { readonly value: number }
  | {
      readonly mode: Mode;
      readonly column: number;
      readonly values: readonly number[];
      readonly missingIsYes: boolean;
      readonly shares: readonly number[];
      readonly yes: Plan;
      readonly no: Plan;
    };

/** Random trees with all modes, chains of BRANCH_EQ with a shared true child, and branches without rows. */
export function testTree({
  columns,
  depth,
}: {
  readonly columns: number;
  readonly depth: number;
}): fc.Arbitrary<TestNode> {
  return planOf(columns, depth).map((plan) => grown(plan, 96));
}

function planOf(columns: number, depth: number): fc.Arbitrary<Plan> {
  const leaf: fc.Arbitrary<Plan> = fc.integer({ min: -64, max: 64 }).map((value) => ({ value: value / 32 }));
  if (depth === 0) return leaf;
  const split: fc.Arbitrary<Plan> = fc.record({
    mode: fc.constantFrom(...modes),
    column: fc.nat({ max: columns - 1 }),
    values: fc.uniqueArray(fc.constantFrom(...thresholds), { minLength: 1, maxLength: 3 }),
    missingIsYes: fc.boolean(),
    shares: fc.array(fc.constantFrom(0, 0.25, 0.5, 0.875, 1), { minLength: 3, maxLength: 3 }),
    yes: planOf(columns, depth - 1),
    no: planOf(columns, depth - 1),
  });
  return fc.oneof({ weight: 1, arbitrary: leaf }, { weight: 5, arbitrary: split });
}

function grown(plan: Plan, cover: number): TestNode {
  if ('value' in plan) return { value: plan.value, cover };
  const { mode, column, missingIsYes } = plan;
  const values = mode === 'BRANCH_EQ' ? plan.values : plan.values.slice(0, 1);
  const covers = [cover];
  for (const [index] of values.entries()) covers.push(Math.floor((covers[index] ?? 0) * (plan.shares[index] ?? 0)));
  const last = covers.at(-1) ?? 0;
  const yes = grown(plan.yes, cover - last);
  let node = grown(plan.no, last);
  for (let index = values.length - 1; index >= 0; index -= 1) {
    const threshold = values[index] ?? 0;
    node = { mode, column, threshold, missingIsYes, yes, no: node, cover: covers[index] ?? 0 };
  }
  return node;
}

/** Whether a value goes to the true child, by ONNX's rules. */
export function goesYes({ mode, threshold, missingIsYes }: TestSplit, value: number): boolean {
  if (Number.isNaN(value) && missingIsYes) return true;
  switch (mode) {
    case 'BRANCH_LEQ':
      return value <= threshold;
    case 'BRANCH_LT':
      return value < threshold;
    case 'BRANCH_GTE':
      return value >= threshold;
    case 'BRANCH_GT':
      return value > threshold;
    case 'BRANCH_EQ':
      return value === threshold;
    case 'BRANCH_NEQ':
      return value !== threshold;
  }
}

/** The `nodes_*` and weight attributes of trees, and the covers in node order. */
export function treeAttributes(
  trees: readonly TestNode[],
  weights: 'class' | 'target',
): { attributes: SampleAttribute[]; covers: number[] } {
  const listed: { tree: number; id: number; node: TestNode }[] = [];
  const idOf = new Map<TestNode, number>();
  for (const [tree, root] of trees.entries()) {
    const first = listed.length;
    const add = (node: TestNode): void => {
      if (idOf.has(node)) return;
      idOf.set(node, listed.length - first);
      listed.push({ tree, id: listed.length - first, node });
      if (isLeaf(node)) return;
      add(node.yes);
      add(node.no);
    };
    add(root);
  }
  const splitOr = <Value>(otherwise: Value, read: (split: TestSplit) => Value): Value[] =>
    listed.map(({ node }) => (isLeaf(node) ? otherwise : read(node)));
  const leaves = listed.filter(({ node }) => isLeaf(node));
  return {
    covers: listed.map(({ node }) => node.cover),
    attributes: [
      ints(
        'nodes_treeids',
        listed.map(({ tree }) => tree),
      ),
      ints(
        'nodes_nodeids',
        listed.map(({ id }) => id),
      ),
      ints(
        'nodes_featureids',
        splitOr(0, ({ column }) => column),
      ),
      strings(
        'nodes_modes',
        splitOr<string>('LEAF', ({ mode }) => mode),
      ),
      floats(
        'nodes_values',
        splitOr(0, ({ threshold }) => threshold),
      ),
      ints(
        'nodes_truenodeids',
        splitOr(0, ({ yes }) => idOf.get(yes) ?? 0),
      ),
      ints(
        'nodes_falsenodeids',
        splitOr(0, ({ no }) => idOf.get(no) ?? 0),
      ),
      ints(
        'nodes_missing_value_tracks_true',
        splitOr(0, ({ missingIsYes }) => (missingIsYes ? 1 : 0)),
      ),
      ints(
        `${weights}_treeids`,
        leaves.map(({ tree }) => tree),
      ),
      ints(
        `${weights}_nodeids`,
        leaves.map(({ id }) => id),
      ),
      ints(
        `${weights}_ids`,
        leaves.map(() => 0),
      ),
      floats(
        `${weights}_weights`,
        leaves.map(({ node }) => (isLeaf(node) ? node.value : 0)),
      ),
    ],
  };
}
