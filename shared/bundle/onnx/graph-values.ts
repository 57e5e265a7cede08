import { words } from './allowed-operators.js';
import type { OnnxGraph, OnnxNode } from './onnx-model.js';

/** Facts about a value of a graph. An absent one is unknown. */
export interface ValueFacts {
  /** Columns of a value with a row for each record. */
  readonly columns?: number | undefined;
  /** False if it is the same for every record. */
  readonly varies: boolean;
  /** The operator whose result it is, where that has a known range. */
  readonly form?: { readonly kind: 'probability' | 'log-probability'; readonly operator: string } | undefined;
}

/** The operators that compute each number from the number at the same index, or keep the columns in another way. */
const sameColumns = words(`
  Abs BatchNormalization Binarizer Cast CastLike Ceil Clip Dropout Elu Erf Exp Floor Gelu HardSigmoid HardSwish Identity
  Imputer IsInf IsNaN LayerNormalization LeakyRelu Log LogSoftmax Mish Neg Normalizer Not PRelu Reciprocal Relu Round
  Scaler Selu Sigmoid Sign Softmax Softplus Softsign Sqrt Swish Tanh ThresholdedRelu`);
const arithmetic = words('Add Div Mul Pow Sub');
const probabilities = words('HardSigmoid Sigmoid Softmax');
/** The operators that only select or arrange numbers. */
const arranging = words(
  'ArrayFeatureExtractor Cast Flatten Gather Identity Reshape Slice Split Squeeze Transpose Unsqueeze',
);
const probableTransforms = words('LOGISTIC SOFTMAX SOFTMAX_ZERO');

/**
 * Follows the values of a graph in one pass.
 * @param from the name and the width of the graph's input
 * @returns what is known of each computed value, and of the input
 */
export function valueFacts(
  graph: OnnxGraph,
  from: { readonly input: string; readonly width: number },
): ReadonlyMap<string, ValueFacts> {
  const stored = new Map(graph.initializer.map(({ name, dims }) => [name, dims]));
  const facts = new Map<string, ValueFacts>([[from.input, { columns: from.width, varies: true }]]);
  for (const node of graph.node) {
    const inputs = node.input.map((name) => facts.get(name) ?? { varies: name !== '' && !stored.has(name) });
    const dims = node.input.map((name) => stored.get(name));
    for (const [index, name] of node.output.entries()) {
      facts.set(name, {
        columns: columnsOf(node, { inputs, dims }),
        varies: !isConstant(node) && inputs.some(({ varies }) => varies),
        form: formOf(node, index, inputs),
      });
    }
    const value = node.opType === 'Constant' ? node.attribute.find(({ t }) => t !== null)?.t?.dims : undefined;
    if (value !== undefined) stored.set(node.output[0] ?? '', value);
  }
  return facts;
}

interface Operands {
  readonly inputs: readonly ValueFacts[];
  /** The sizes of stored operands. */
  readonly dims: readonly (readonly number[] | undefined)[];
}

function columnsOf(node: OnnxNode, { inputs, dims }: Operands): number | undefined {
  const [first, second] = inputs;
  const [, stored] = dims;
  if (sameColumns.has(node.opType)) return first?.columns;
  // One number, or one for each column, does not change the columns of several.
  if (arithmetic.has(node.opType)) {
    const columns = first?.columns ?? second?.columns;
    return columns !== undefined && columns > 1 && dims.some((sizes) => sizes !== undefined) ? columns : undefined;
  }
  const axis = integer(node, 'axis', 0);
  const isColumnAxis = axis === 1 || axis === -1;
  if (node.opType === 'Concat' && isColumnAxis) return inputs.reduce<number | undefined>(sum, 0);
  if (node.opType === 'ArrayFeatureExtractor' || (node.opType === 'Gather' && isColumnAxis))
    return stored?.reduce((product, size) => product * size, 1);
  if (node.opType === 'Gemm') return stored?.[integer(node, 'transB', 0) === 1 ? 0 : 1];
  return node.opType === 'MatMul' ? stored?.[1] : undefined;
}

const sum = (total: number | undefined, { columns }: ValueFacts): number | undefined =>
  total === undefined || columns === undefined ? undefined : total + columns;

/** Whether the operator gives the same for every record: a forest without a branch. */
function isConstant(node: OnnxNode): boolean {
  if (node.opType !== 'TreeEnsembleClassifier' && node.opType !== 'TreeEnsembleRegressor') return false;
  const modes = node.attribute.find(({ name }) => name === 'nodes_modes')?.strings ?? [];
  return modes.length > 0 && modes.every((mode) => mode === 'LEAF');
}

function formOf(node: OnnxNode, output: number, inputs: readonly ValueFacts[]): ValueFacts['form'] {
  const { opType } = node;
  if (probabilities.has(opType)) return { kind: 'probability', operator: opType };
  if (opType === 'LogSoftmax') return { kind: 'log-probability', operator: opType };
  if (arranging.has(opType)) return inputs[0]?.form;
  const transform = node.attribute.find(({ name }) => name === 'post_transform')?.s ?? '';
  if (!probableTransforms.has(transform) || output !== (opType.endsWith('Classifier') ? 1 : 0)) return undefined;
  return { kind: 'probability', operator: `${opType} with post_transform ${transform}` };
}

const integer = (node: OnnxNode, attribute: string, otherwise: number): number =>
  node.attribute.find(({ name }) => name === attribute)?.i ?? otherwise;
