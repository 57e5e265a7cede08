import { NotASum } from './not-a-sum.js';
import type { Attributes } from './tensor-values.js';
import {
  ABOVE,
  AT_LEAST,
  AT_MOST,
  BELOW,
  EQUAL,
  LEAF,
  type LeafWeight,
  type TreeEnsemble,
  type TreeInput,
  UNEQUAL,
} from './tree-ensemble.js';

const DECISIONS: ReadonlyMap<string, number> = new Map([
  ['LEAF', LEAF],
  ['BRANCH_LEQ', AT_MOST],
  ['BRANCH_LT', BELOW],
  ['BRANCH_GTE', AT_LEAST],
  ['BRANCH_GT', ABOVE],
  ['BRANCH_EQ', EQUAL],
  ['BRANCH_NEQ', UNEQUAL],
]);

/** Larger than any node id: (tree, node) as one number. */
const TREE_STRIDE = 2 ** 32;

/**
 * The trees of a `TreeEnsembleClassifier` (`weightsOf`: `class`) or `TreeEnsembleRegressor` (`target`) of ai.onnx.ml 1-4.
 * A tree's root is the first node listed of it, as ONNX Runtime has it.
 * @throws NotASum when the attributes do not make trees
 */
export function readTreeEnsemble(
  attributes: Attributes,
  of: { readonly inputs: readonly TreeInput[]; readonly firstCover: number; readonly weightsOf: string },
): TreeEnsemble {
  const treeIds = attributes.integers('nodes_treeids');
  const nodeIds = attributes.integers('nodes_nodeids');
  const modes = attributes.texts('nodes_modes');
  const nodeCount = treeIds.length;
  const { indexOf, roots } = indexNodes(treeIds, nodeIds);
  const decision = Uint8Array.from({ length: nodeCount }, (_, node) => {
    const found = DECISIONS.get(modes[node] ?? '');
    if (found === undefined) throw new NotASum(`a tree node has the mode "${modes[node]}"`);
    return found;
  });
  const children = (name: string): Int32Array => {
    const ids = attributes.integers(name);
    return Int32Array.from({ length: nodeCount }, (_, node) =>
      decision[node] === LEAF ? -1 : indexOf(treeIds[node], ids[node]),
    );
  };
  const missing = attributes.integers('nodes_missing_value_tracks_true');
  const input = Int32Array.from(attributes.integers('nodes_featureids'));
  const threshold = attributes.numbers('nodes_values') ?? new Float64Array(nodeCount);
  const hitRates = attributes.numbers('nodes_hitrates');
  if (input.length !== nodeCount || threshold.length !== nodeCount)
    throw new NotASum('the attributes of the tree nodes differ in length');
  return {
    ...of,
    nodeCount,
    roots,
    decision,
    input,
    threshold,
    members: new Map(),
    whenTrue: children('nodes_truenodeids'),
    whenFalse: children('nodes_falsenodeids'),
    missingIsTrue: Uint8Array.from({ length: nodeCount }, (_, node) => (missing[node] === 1 ? 1 : 0)),
    hitRates: hitRates?.length === nodeCount ? hitRates : undefined,
    leafWeights: readLeafWeights(attributes, of.weightsOf, indexOf),
  };
}

type IndexOf = (treeId: number | undefined, nodeId: number | undefined) => number;

function indexNodes(
  treeIds: readonly number[],
  nodeIds: readonly number[],
): { indexOf: IndexOf; roots: number[] } {
  const roots: number[] = [];
  const ordinals = new Map<number, number>();
  const indices = new Map<number, number>();
  for (const [node, treeId] of treeIds.entries()) {
    let ordinal = ordinals.get(treeId);
    if (ordinal === undefined) {
      ordinal = roots.push(node) - 1;
      ordinals.set(treeId, ordinal);
    }
    indices.set(ordinal * TREE_STRIDE + (nodeIds[node] ?? 0), node);
  }
  const indexOf: IndexOf = (treeId, nodeId) => {
    const ordinal = ordinals.get(treeId ?? -1) ?? -1;
    const found = indices.get(ordinal * TREE_STRIDE + (nodeId ?? -1));
    if (found === undefined) throw new NotASum(`tree ${treeId} has no node ${nodeId}`);
    return found;
  };
  return { indexOf, roots };
}

function readLeafWeights(attributes: Attributes, prefix: string, indexOf: IndexOf): LeafWeight[] {
  const treeIds = attributes.integers(`${prefix}_treeids`);
  const nodeIds = attributes.integers(`${prefix}_nodeids`);
  const targets = attributes.integers(`${prefix}_ids`);
  const weights = attributes.numbers(`${prefix}_weights`) ?? new Float64Array(0);
  return Array.from(weights, (weight, index) => ({
    node: indexOf(treeIds[index], nodeIds[index]),
    target: targets[index] ?? 0,
    weight,
  }));
}
