import { NotASum } from './not-a-sum.js';
import type { Attributes } from './tensor-values.js';
import {
  ABOVE,
  AMONG,
  AT_LEAST,
  AT_MOST,
  BELOW,
  EQUAL,
  type LeafWeight,
  type TreeEnsemble,
  type TreeInput,
  UNEQUAL,
} from './tree-ensemble.js';

/** By the numbers of the standard. */
const DECISIONS: readonly number[] = [AT_MOST, BELOW, AT_LEAST, ABOVE, EQUAL, UNEQUAL, AMONG];

/**
 * The trees of a `TreeEnsemble` of ai.onnx.ml 5. Leaves are nodes of their own there; here they follow the splits, as
 * they do in the bundle's covers.
 * @throws NotASum when the attributes do not make trees
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
    // The operator says hit rates of splits only: half of what is needed.
    hitRates: undefined,
    leafWeights,
  };
}

function decisionOf(mode: number): number {
  const decision = DECISIONS[mode];
  if (decision === undefined) throw new NotASum(`a tree node has the mode ${mode}`);
  return decision;
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

/** The sets lie one after the other in the order of their nodes, each ended by NaN. */
function readMembers(decision: Uint8Array, values: Float64Array | undefined): Map<number, Float64Array> {
  const members = new Map<number, Float64Array>();
  let start = 0;
  for (const [node, how] of decision.entries()) {
    if (how !== AMONG) continue;
    let end = start;
    while (values !== undefined && end < values.length && !Number.isNaN(values[end])) end += 1;
    members.set(node, values?.slice(start, end) ?? new Float64Array(0));
    start = end + 1;
  }
  return members;
}
