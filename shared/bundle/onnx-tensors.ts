import type { OnnxAttribute, OnnxGraph, OnnxSparseTensor, OnnxTensor } from './onnx-model.js';

/** A tensor stored in an ONNX file, and where in it. */
export interface PlacedTensor {
  readonly tensor: OnnxTensor;
  /** For a message: `initializer "W"`, `attribute "value" of Constant`. */
  readonly place: string;
}

/**
 * Every tensor stored in a graph, wherever the format lets one be: initializers, sparse initializers, attributes of
 * nodes, and the same in the graphs that attributes carry.
 * @param graph the graph
 * @returns the tensors, in the order of the file
 */
export function* storedTensors(graph: OnnxGraph): Generator<PlacedTensor> {
  for (const tensor of graph.initializer) yield { tensor, place: `initializer "${tensor.name}"` };
  for (const sparse of graph.sparseInitializer) yield* sparseParts(sparse, 'sparse initializer');
  for (const node of graph.node) {
    for (const attribute of node.attribute) {
      yield* attributeTensors(attribute, `attribute "${attribute.name}" of ${node.opType}`);
    }
  }
}

function* attributeTensors(attribute: OnnxAttribute, place: string): Generator<PlacedTensor> {
  if (attribute.t !== null) yield { tensor: attribute.t, place };
  for (const tensor of attribute.tensors) yield { tensor, place };
  if (attribute.sparseTensor !== null) yield* sparseParts(attribute.sparseTensor, place);
  for (const sparse of attribute.sparseTensors) yield* sparseParts(sparse, place);
  if (attribute.g !== null) yield* storedTensors(attribute.g);
  for (const graph of attribute.graphs) yield* storedTensors(graph);
}

function* sparseParts(sparse: OnnxSparseTensor, place: string): Generator<PlacedTensor> {
  if (sparse.values !== null) yield { tensor: sparse.values, place: `${place} "${sparse.values.name}"` };
  if (sparse.indices !== null) yield { tensor: sparse.indices, place: `the indices of ${place}` };
}
