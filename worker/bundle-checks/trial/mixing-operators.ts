import {
  type OnnxGraph,
  type OnnxNode,
  onnxBrainFloat,
  onnxHalf,
  onnxInteger,
} from '../../../shared/bundle/onnx/onnx-model.js';
import { tensorValues } from '../../drivers/graph/tensor-values.js';

/** Operators that combine the numbers along an axis, and the axis that they take by default. */
const alongAxis: ReadonlyMap<string, number> = new Map([
  ['ArgMax', 0],
  ['ArgMin', 0],
  ['CumSum', 0],
  ['LayerNormalization', -1],
  ['LogSoftmax', -1],
  ['Softmax', -1],
  ['TopK', -1],
]);
const maxNamed = 3;
const maxAxes = 8;

/**
 * The operators of a graph that may combine the records of a call, as text: those that work along the first axis. They
 * need not do so: that axis may belong to a weight. So they explain a difference that was seen, and prove none.
 * @returns such as "ReduceMean over axis 0"; undefined if none is known
 */
export function mixingOperators(graph: OnnxGraph): string | undefined {
  const constants = storedLists(graph);
  const found = graph.node.filter((node) => overFirstAxis(node, constants)).map(({ opType }) => opType);
  const named = [...new Set(found)].slice(0, maxNamed).join(', ');
  return named === '' ? undefined : `${named} over axis 0`;
}

function overFirstAxis(node: OnnxNode, constants: ReadonlyMap<string, readonly number[]>): boolean {
  const { opType, attribute, input } = node;
  const [, second = ''] = input;
  const given = attribute.find(({ name }) => name === 'axis')?.i;
  const otherwise = alongAxis.get(opType);
  if (otherwise !== undefined) {
    const axis = opType === 'CumSum' ? constants.get(second)?.[0] : given;
    return isFirst(axis ?? otherwise);
  }
  if (!opType.startsWith('Reduce')) return false;
  const axes = attribute.find(({ name }) => name === 'axes')?.ints ?? constants.get(second);
  if (axes !== undefined && axes.length > 0) return axes.some(isFirst);
  return (attribute.find(({ name }) => name === 'noop_with_empty_axes')?.i ?? 0) === 0;
}

/** The first of two axes. */
const isFirst = (axis: number): boolean => axis === 0 || axis === -2;

/** The short lists that a graph stores, by name: axes are among them. */
function storedLists({ initializer, node }: OnnxGraph): ReadonlyMap<string, readonly number[]> {
  const constants = node
    .filter(({ opType }) => opType === 'Constant')
    .map(({ output, attribute }) => ({
      name: output[0] ?? '',
      tensor: attribute.find(({ t }) => t !== null)?.t ?? null,
    }));
  const named = [...initializer.map((tensor) => ({ name: tensor.name, tensor })), ...constants];
  const lists = new Map<string, readonly number[]>();
  for (const { name, tensor } of named) {
    if (tensor?.dataType !== onnxInteger || tensor.dims.some((size) => size > maxAxes)) continue;
    lists.set(name, [...tensorValues(tensor)]);
  }
  return lists;
}

/** Whether a graph computes in 16 bits, so that its last bit is a thousandth. */
export function computesInHalf({ initializer, node }: OnnxGraph): boolean {
  const isHalf = (type: number): boolean => type === onnxHalf || type === onnxBrainFloat;
  const casts = node.filter(({ opType }) => opType === 'Cast').flatMap(({ attribute }) => attribute);
  return (
    initializer.some(({ dataType }) => isHalf(dataType)) || casts.some(({ name, i }) => name === 'to' && isHalf(i))
  );
}
