import { expect } from 'chai';
import { explainTrees } from '../../../../worker/drivers/trees/tree-contributions.js';
import { atMostCode, leafCode, type TreeEnsemble } from '../../../../worker/drivers/trees/tree-ensemble.js';

/** Balanced trees that take a few milliseconds per record. */
function manyTrees(trees: number, depth: number): { ensemble: TreeEnsemble; covers: Float32Array } {
  const perTree = 2 ** (depth + 1) - 1;
  const nodeCount = trees * perTree;
  const inner = 2 ** depth - 1;
  const inTree = (node: number): number => node % perTree;
  const child = (which: 1 | 2) =>
    Int32Array.from({ length: nodeCount }, (_, node) =>
      inTree(node) < inner ? node - inTree(node) + 2 * inTree(node) + which : -1,
    );
  const leafWeights = Array.from({ length: nodeCount }, (_, node) => node)
    .filter((node) => inTree(node) >= inner)
    .map((node) => ({ node, target: 0, weight: (inTree(node) % 5) / 100 }));
  const ensemble: TreeEnsemble = {
    inputs: Array.from({ length: 8 }, (_, column) => ({ column, weight: 1, offset: 0 })),
    firstCover: 0,
    nodeCount,
    roots: Array.from({ length: trees }, (_, tree) => tree * perTree),
    decision: Uint8Array.from({ length: nodeCount }, (_, node) => (inTree(node) < inner ? atMostCode : leafCode)),
    input: Int32Array.from({ length: nodeCount }, (_, node) => (node * 7) % 8),
    threshold: Float64Array.from({ length: nodeCount }, (_, node) => (node % 11) / 11),
    members: new Map(),
    whenTrue: child(1),
    whenFalse: child(2),
    missingIsTrue: new Uint8Array(nodeCount),
    hitRates: undefined,
    leafWeights,
  };
  const covers = Float32Array.from(
    { length: nodeCount },
    (_, node) => 2 ** (depth - Math.floor(Math.log2(inTree(node) + 1))),
  );
  return { ensemble, covers };
}

const explained = ({ ensemble, covers }: ReturnType<typeof manyTrees>) =>
  explainTrees({
    sum: { constant: 0, weights: new Map(), trees: [{ ensemble, target: 0, factor: 1 }] },
    isProbability: false,
    covers,
    width: 8,
    fields: 8,
    fieldOfColumn: Int32Array.from({ length: 8 }, (_, column) => column),
  });

describe('contributions of many records', () => {
  it('yields to the event loop, and equals the contributions of single records', async () => {
    const explainer = explained(manyTrees(60, 9));
    const count = 200;
    const rows = Float32Array.from({ length: 8 * count }, (_, at) => ((at * 37) % 101) / 101);
    let iterations = 0;
    let isDone = false;
    const tick = (): void => {
      iterations += 1;
      if (!isDone) setImmediate(tick);
    };
    setImmediate(tick);
    const startedMs = performance.now();
    const contributions = await explainer.contributions({ rows, count });
    const tookMs = performance.now() - startedMs;
    isDone = true;
    // A slice is 12 ms plus the rest of one tree and block, so there are far more iterations than one per 50 ms.
    expect(iterations).to.be.greaterThan(Math.max(2, tookMs / 50));
    for (const row of [0, 63, 64, 127, 199]) {
      const alone = await explainer.contributions({ rows: rows.slice(8 * row, 8 * row + 8), count: 1 });
      expect(Array.from(contributions.slice(8 * row, 8 * row + 8))).to.deep.equal(Array.from(alone));
    }
  });

  it('stops between two time slices if its signal is aborted', async () => {
    const explainer = explained(manyTrees(60, 9));
    const rows = new Float32Array(8 * 20_000);
    const controller = new AbortController();
    setImmediate(() => controller.abort(new Error('caller disconnected')));
    const error = await explainer
      .contributions({ rows, count: 20_000, signal: controller.signal })
      .catch((thrown: unknown) => thrown);
    expect(error).to.be.an('error').with.property('message', 'caller disconnected');
  });

  it('returns correct contributions for two concurrent calls', async () => {
    const explainer = explained(manyTrees(40, 7));
    const one = Float32Array.from({ length: 8 * 300 }, (_, at) => ((at * 13) % 97) / 97);
    const other = one.map((value) => 1 - value);
    const [together, beside] = await Promise.all([
      explainer.contributions({ rows: one, count: 300 }),
      explainer.contributions({ rows: other, count: 300 }),
    ]);
    expect(together).to.deep.equal(await explainer.contributions({ rows: one, count: 300 }));
    expect(beside).to.deep.equal(await explainer.contributions({ rows: other, count: 300 }));
  });
});
