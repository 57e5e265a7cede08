import { BundleError } from './bundle-error.js';
import type { OnnxGraph, OnnxNode } from './onnx-model.js';

const BYTES_PER_COVER = 4;

/**
 * The nodes of all trees in a graph, which is how many covers a bundle must have, in this order: for
 * `TreeEnsembleClassifier` and `TreeEnsembleRegressor` the order of the `nodes_*` attributes (leaves are among
 * them); for `TreeEnsemble` (ai.onnx.ml 5) first its `nodes_*`, then its `leaf_*`; several such operators follow
 * one another as in the graph.
 * @param graph the model's graph
 * @returns the number of nodes, 0 for a graph without trees
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
 * Checks the covers of a tree model: little-endian float32, one for each tree node, finite and not negative.
 * @param bytes the file
 * @param expected its name, and the graph that it belongs to
 * @throws BundleError naming the file and what is wrong
 */
export function checkCovers(bytes: Buffer, { member, graph }: { member: string; graph: OnnxGraph }): void {
  const nodes = countTreeNodes(graph);
  if (nodes === 0) throw new BundleError(member, 'belongs to a tree model, but the ONNX graph has no tree');
  if (bytes.length !== nodes * BYTES_PER_COVER) {
    const needed = nodes * BYTES_PER_COVER;
    throw new BundleError(
      member,
      `holds ${bytes.length} bytes, but ${nodes} tree nodes need ${needed} (4 for each)`,
    );
  }
  for (let node = 0; node < nodes; node += 1) {
    const cover = bytes.readFloatLE(node * BYTES_PER_COVER);
    if (!Number.isFinite(cover) || cover < 0) {
      throw new BundleError(
        member,
        `gives node ${node} the cover ${cover}; a cover is finite and not negative`,
      );
    }
  }
}
