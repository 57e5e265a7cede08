import { amongCode, type LeafWeight, leafCode, type TreeEnsemble, type TreeInput } from '../trees/tree-ensemble.js';
import { NotASum } from './sum.js';
import type { Attributes } from './tensor-values.js';

/** The modes of ai.onnx.ml 1-4 by decision code. */
const modeNames = ['LEAF', 'BRANCH_LEQ', 'BRANCH_LT', 'BRANCH_GTE', 'BRANCH_GT', 'BRANCH_EQ', 'BRANCH_NEQ'];

/** Larger than any node id, so that (tree, node) fits into one number. */
const treeStride = 2 ** 32;

/**
 * Reads the trees of a `TreeEnsembleClassifier` (`weightsOf`: `class`) or `TreeEnsembleRegressor` (`target`) of
 * ai.onnx.ml 1-4. A tree's root is its first listed node, like in ONNX Runtime.
 * @throws NotASum if the attributes do not form trees
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
    const found = modeNames.indexOf(modes[node] ?? '');
    if (found < 0) throw new NotASum(`a tree node has the mode "${modes[node]}"`);
    return found;
  });
  const children = (name: string): Int32Array => {
    const ids = attributes.integers(name);
    return Int32Array.from({ length: nodeCount }, (_, node) =>
      decision[node] === leafCode ? -1 : indexOf(treeIds[node], ids[node]),
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

function indexNodes(treeIds: readonly number[], nodeIds: readonly number[]): { indexOf: IndexOf; roots: number[] } {
  const roots: number[] = [];
  const ordinals = new Map<number, number>();
  const indices = new Map<number, number>();
  for (const [node, treeId] of treeIds.entries()) {
    let ordinal = ordinals.get(treeId);
    if (ordinal === undefined) {
      ordinal = roots.push(node) - 1;
      ordinals.set(treeId, ordinal);
    }
    indices.set(ordinal * treeStride + (nodeIds[node] ?? 0), node);
  }
  const indexOf: IndexOf = (treeId, nodeId) => {
    const ordinal = ordinals.get(treeId ?? -1) ?? -1;
    const found = indices.get(ordinal * treeStride + (nodeId ?? -1));
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

/**
 * Reads the trees of a `TreeEnsemble` of ai.onnx.ml 5, which lists leaves separately. Here they follow the splits, as
 * in the bundle's covers.
 * @throws NotASum if the attributes do not form trees
 */
export function readTreeEnsemble5(
  attributes: Attributes,
  of: { readonly inputs: readonly TreeInput[]; readonly firstCover: number },
): TreeEnsemble {
  const input = attributes.integers('nodes_featureids');
  const targets = attributes.integers('leaf_targetids');
  const splitCount = input.length;
  const nodeCount = splitCount + targets.length;
  const modes = attributes.numbers('nodes_modes') ?? new Float64Array(0);
  const splits = attributes.numbers('nodes_splits') ?? new Float64Array(0);
  const missing = attributes.integers('nodes_missing_value_tracks_true');
  const weights = attributes.numbers('leaf_weights') ?? new Float64Array(0);
  if (modes.length !== splitCount || splits.length !== splitCount || weights.length !== targets.length)
    throw new NotASum('the attributes of the tree nodes differ in length');
  const decision = new Uint8Array(nodeCount);
  for (const [node, mode] of modes.entries()) decision[node] = decisionOf(mode);
  const threshold = new Float64Array(nodeCount);
  threshold.set(splits);
  const leafWeights = Array.from(
    weights,
    (weight, leaf): LeafWeight => ({ node: splitCount + leaf, target: targets[leaf] ?? 0, weight }),
  );
  return {
    ...of,
    nodeCount,
    roots: attributes.integers('tree_roots'),
    decision,
    input: Int32Array.from({ length: nodeCount }, (_, node) => input[node] ?? 0),
    threshold,
    members: readMembers(decision, attributes.numbers('membership_values')),
    whenTrue: children(attributes, { side: 'true', splitCount, nodeCount }),
    whenFalse: children(attributes, { side: 'false', splitCount, nodeCount }),
    missingIsTrue: Uint8Array.from({ length: nodeCount }, (_, node) => (missing[node] === 1 ? 1 : 0)),
    // The operator has hit rates for splits only, not for leaves.
    hitRates: undefined,
    leafWeights,
  };
}

/** The modes of ai.onnx.ml 5 are numbers without a leaf, in the order of the decision codes. */
function decisionOf(mode: number): number {
  if (![0, 1, 2, 3, 4, 5, 6].includes(mode)) throw new NotASum(`a tree node has the mode ${mode}`);
  return mode + 1;
}

function children(
  attributes: Attributes,
  of: { readonly side: 'true' | 'false'; readonly splitCount: number; readonly nodeCount: number },
): Int32Array {
  const ids = attributes.integers(`nodes_${of.side}nodeids`);
  const areLeaves = attributes.integers(`nodes_${of.side}leafs`);
  return Int32Array.from({ length: of.nodeCount }, (_, node) => {
    if (node >= of.splitCount) return -1;
    const child = (ids[node] ?? -1) + (areLeaves[node] === 1 ? of.splitCount : 0);
    if (!(child >= 0 && child < of.nodeCount)) throw new NotASum(`tree node ${node} has no ${of.side} child`);
    return child;
  });
}

/** The value sets are consecutive, in node order, each terminated by NaN. */
function readMembers(decision: Uint8Array, values: Float64Array | undefined): Map<number, Float64Array> {
  const members = new Map<number, Float64Array>();
  let start = 0;
  for (const [node, how] of decision.entries()) {
    if (how !== amongCode) continue;
    let end = start;
    while (values !== undefined && end < values.length && !Number.isNaN(values[end])) end += 1;
    members.set(node, values?.slice(start, end) ?? new Float64Array(0));
    start = end + 1;
  }
  return members;
}
