import { BundleError } from '../bundle-error.js';
import type { OnnxGraph, OnnxNode } from './onnx-model.js';

const coverBytes = 4; // a float32

/**
 * Counts the nodes of all trees in a graph. A bundle has one cover for each node, ordered by operator as in the graph:
 * - `TreeEnsembleClassifier` and `TreeEnsembleRegressor`: the order of the `nodes_*` attributes, leaves included;
 * - `TreeEnsemble` (ai.onnx.ml 5): first its `nodes_*`, then its `leaf_*`.
 */
export function countTreeNodes(graph: OnnxGraph): number {
  return graph.node.reduce((total, node) => total + nodesOf(node), 0);
}

function nodesOf(node: OnnxNode): number {
  const length = (name: string): number =>
    node.attribute.find((attribute) => attribute.name === name)?.ints.length ?? 0;
  switch (node.opType) {
    case 'TreeEnsembleClassifier':
    case 'TreeEnsembleRegressor':
      return length('nodes_nodeids');
    case 'TreeEnsemble':
      return length('nodes_featureids') + length('leaf_targetids');
    default:
      return 0;
  }
}

/**
 * Checks the covers of a tree model: one little-endian float32 for each tree node, finite and not negative.
 * @throws BundleError naming the file and the problem
 */
export function checkCovers(bytes: Buffer, { member, graph }: { member: string; graph: OnnxGraph }): void {
  const nodes = countTreeNodes(graph);
  if (nodes === 0)
    throw new BundleError(
      member,
      'belongs to a tree model, but the ONNX graph has no tree: set explain.kind to "linear" or "baseline"',
    );
  if (bytes.length !== nodes * coverBytes) {
    const needed = nodes * coverBytes;
    throw new BundleError(
      member,
      `holds ${bytes.length} bytes, but ${nodes} tree nodes need ${needed} (one float32 each)`,
    );
  }
  for (let node = 0; node < nodes; node += 1) {
    const cover = bytes.readFloatLE(node * coverBytes);
    if (!Number.isFinite(cover) || cover < 0) {
      throw new BundleError(member, `has the cover ${cover} for node ${node}: covers must be finite and not negative`);
    }
  }
}
