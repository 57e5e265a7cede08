import { expect } from 'chai';
import { NotASum } from '../../../../worker/drivers/graph/sum.js';
import { explainTrees } from '../../../../worker/drivers/trees/tree-contributions.js';
import { atMostCode, leafCode, type TreeEnsemble } from '../../../../worker/drivers/trees/tree-ensemble.js';

/** One tree from the children of its splits; the node after the last split is a leaf. */
function treeOf(whenTrue: readonly number[], whenFalse: readonly number[]): TreeEnsemble {
  const splits = whenTrue.length;
  const nodeCount = splits + 1;
  return {
    inputs: [{ column: 0, weight: 1, offset: 0 }],
    firstCover: 0,
    nodeCount,
    roots: [0],
    decision: Uint8Array.from({ length: nodeCount }, (_, node) => (node < splits ? atMostCode : leafCode)),
    input: new Int32Array(nodeCount),
    threshold: Float64Array.from({ length: nodeCount }, (_, node) => node),
    members: new Map(),
    whenTrue: Int32Array.from([...whenTrue, -1]),
    whenFalse: Int32Array.from([...whenFalse, -1]),
    missingIsTrue: new Uint8Array(nodeCount),
    hitRates: undefined,
    leafWeights: [{ node: splits, target: 0, weight: 1 }],
  };
}

const explained = (ensemble: TreeEnsemble) =>
  explainTrees({
    sum: { constant: 0, weights: new Map(), trees: [{ ensemble, target: 0, factor: 1 }] },
    isProbability: false,
    covers: Float32Array.from({ length: ensemble.nodeCount }, (_, node) => 1 + node),
    width: 1,
    fields: 1,
    fieldOfColumn: new Int32Array(1),
  });

describe('explainTrees for trees that cannot be unfolded', () => {
  it('throws NotASum if shared nodes would unfold into too many splits', () => {
    // Two edges lead to each split: 2^40 paths.
    const below = Array.from({ length: 40 }, (_, split) => split + 1);
    expect(() => explained(treeOf(below, below))).to.throw(NotASum, /the trees have more than 500,?000 splits/);
  });

  it('throws NotASum if the nodes form a cycle', () => {
    expect(() => explained(treeOf([1, 2, 0], [3, 3, 3]))).to.throw(NotASum, /more than 1000 splits deep/);
  });
});
