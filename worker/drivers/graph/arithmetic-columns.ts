import { type OnnxNode, onnxDouble, onnxFloat } from '../../../shared/bundle/onnx/onnx-model.js';
import {
  areComplementary,
  combined,
  dotProduct,
  NotASum,
  type Operands,
  type StoredValues,
  type SumColumn,
  scaled,
  softmaxColumns,
} from './sum.js';
import { Attributes } from './tensor-values.js';

type Operator = (node: OnnxNode, operands: Operands) => readonly SumColumn[];

/** Finds the plain tensor operator that maps sums to sums, or to logistic functions of sums. */
export const tensorOperator = (opType: string): Operator | undefined =>
  Object.hasOwn(operators, opType) ? operators[opType] : undefined;

const sameColumns: Operator = (_node, operands) => operands.columns(0);

const operators: Readonly<Record<string, Operator>> = {
  Identity: sameColumns,
  Dropout: sameColumns,
  Flatten: sameColumns,
  Reshape: oneColumn,
  Squeeze: oneColumn,
  Unsqueeze: oneColumn,
  Cast: castColumns,
  Neg: (_node, operands) => operands.columns(0).map((column) => affine(column, -1, 0)),
  Add: (_node, operands) => addColumns(operands, 1),
  Sub: (_node, operands) => addColumns(operands, -1),
  Mul: multiplyColumns,
  Div: divideColumns,
  Sigmoid: (_node, operands) => operands.columns(0).map((column) => ({ sum: plainSum(column), isLogistic: true })),
  Softmax: (_node, operands) => softmaxColumns(operands.columns(0).map(plainSum)),
  Normalizer: normalizeColumns,
  Scaler: scaleColumns,
  MatMul: (_node, operands) => matrixProduct(operands, { transposed: false, alpha: 1 }),
  Gemm: gemmColumns,
  Concat: concatColumns,
  Gather: gatherColumns,
  ArrayFeatureExtractor: (_node, operands) => pickColumns(operands),
};

function plainSum({ sum, isLogistic }: SumColumn) {
  if (isLogistic) throw new NotASum('a function of a probability');
  return sum;
}

/** factor * column + offset. For a probability p only p and 1 - p, the logistic function of -sum, are allowed. */
function affine(column: SumColumn, factor: number, offset: number): SumColumn {
  if (!column.isLogistic) return { sum: scaled(column.sum, factor, offset), isLogistic: false };
  if (factor === 1 && offset === 0) return column;
  if (factor === -1 && offset === 1) return { sum: scaled(column.sum, -1), isLogistic: true };
  throw new NotASum('arithmetic on a probability');
}

function oneColumn(node: OnnxNode, operands: Operands): readonly SumColumn[] {
  const columns = operands.columns(0);
  if (columns.length !== 1) throw new NotASum(`${node.opType} of ${columns.length} columns`);
  return columns;
}

function castColumns(node: OnnxNode, operands: Operands): readonly SumColumn[] {
  const type = new Attributes(node).integer('to', onnxFloat);
  if (type !== onnxFloat && type !== onnxDouble) throw new NotASum('a conversion to whole numbers');
  return operands.columns(0);
}

/** Reads a stored vector that has one value for all columns, or one per column. */
function perColumn({ values }: StoredValues, columns: number): (column: number) => number {
  if (values.length === 1) return () => values[0] ?? 0;
  if (values.length !== columns) throw new NotASum('a stored tensor that does not match the columns');
  return (column) => values[column] ?? 0;
}

function addColumns(operands: Operands, sign: 1 | -1): readonly SumColumn[] {
  const left = operands.stored(0);
  const right = operands.stored(1);
  if (right !== undefined) {
    const columns = operands.columns(0);
    const added = perColumn(right, columns.length);
    return columns.map((column, index) => affine(column, 1, sign * added(index)));
  }
  const second = operands.columns(1);
  if (left !== undefined) {
    const added = perColumn(left, second.length);
    return second.map((column, index) => affine(column, sign, added(index)));
  }
  const first = operands.columns(0);
  if (first.length !== second.length) throw new NotASum('a sum of tensors of different widths');
  return first.map((column, index) => {
    const other = second[index] ?? column;
    return { sum: combined(plainSum(column), sign, plainSum(other)), isLogistic: false };
  });
}

function multiplyColumns(_node: OnnxNode, operands: Operands): readonly SumColumn[] {
  const right = operands.stored(1);
  const factors = right ?? operands.stored(0);
  if (factors === undefined) throw new NotASum('a product of columns');
  const columns = operands.columns(right === undefined ? 1 : 0);
  const factor = perColumn(factors, columns.length);
  return columns.map((column, index) => affine(column, factor(index), 0));
}

function divideColumns(_node: OnnxNode, operands: Operands): readonly SumColumn[] {
  const divisors = operands.stored(1);
  if (divisors === undefined) throw new NotASum('a division by columns');
  const columns = operands.columns(0);
  const divisor = perColumn(divisors, columns.length);
  return columns.map((column, index) => affine(column, 1 / divisor(index), 0));
}

/** Dividing two probabilities by their sum changes nothing if they add up to 1. */
function normalizeColumns(node: OnnxNode, operands: Operands): readonly SumColumn[] {
  const columns = operands.columns(0);
  const [first, second] = columns;
  const norm = new Attributes(node).text('norm', 'MAX');
  if (norm !== 'L1' || columns.length !== 2 || first === undefined || second === undefined)
    throw new NotASum(`a normalisation by ${norm}`);
  if (!areComplementary(first, second)) throw new NotASum('a normalisation of columns that do not add up to 1');
  return columns;
}

function scaleColumns(node: OnnxNode, operands: Operands): readonly SumColumn[] {
  const attributes = new Attributes(node);
  const columns = operands.columns(0);
  const stored = (name: string, otherwise: number) => ({
    dims: [],
    values: attributes.numbers(name) ?? Float64Array.of(otherwise),
  });
  const offset = perColumn(stored('offset', 0), columns.length);
  const scale = perColumn(stored('scale', 1), columns.length);
  return columns.map((column, index) => affine(column, scale(index), -offset(index) * scale(index)));
}

function gemmColumns(node: OnnxNode, operands: Operands): readonly SumColumn[] {
  const attributes = new Attributes(node);
  if (attributes.integer('transA', 0) !== 0) throw new NotASum('a transposed input');
  const products = matrixProduct(operands, {
    transposed: attributes.integer('transB', 0) !== 0,
    alpha: attributes.number('alpha', 1),
  });
  const added = operands.stored(2);
  if (added === undefined) return products;
  const beta = attributes.number('beta', 1);
  const addedTo = perColumn(added, products.length);
  return products.map((column, index) => affine(column, 1, beta * addedTo(index)));
}

function matrixProduct(
  operands: Operands,
  { transposed, alpha }: { readonly transposed: boolean; readonly alpha: number },
): readonly SumColumn[] {
  const matrix = operands.stored(1);
  if (matrix === undefined) throw new NotASum('a product of columns');
  const [rows = 0, columns = 1] = matrix.dims;
  const outputs = transposed ? rows : columns;
  const inputs = transposed ? columns : rows;
  const operand = operands.columns(0);
  if (operand.length !== inputs || matrix.values.length !== inputs * outputs)
    throw new NotASum('a matrix that does not match the columns');
  if (inputs * outputs > maxMatrixSize) throw new NotASum('a very large matrix');
  const weightOf = (input: number, output: number) =>
    alpha * (matrix.values[transposed ? output * inputs + input : input * outputs + output] ?? 0);
  return Array.from({ length: outputs }, (_, output) => ({
    sum: dotProduct(operand, (input) => weightOf(input, output), 0),
    isLogistic: false,
  }));
}

/** Larger matrices belong to neural networks; their products would only use memory. */
const maxMatrixSize = 1_000_000;

const alongColumns = (node: OnnxNode, otherwise: number): boolean => {
  const axis = new Attributes(node).integer('axis', otherwise);
  return axis === 1 || axis === -1;
};

function concatColumns(node: OnnxNode, operands: Operands): readonly SumColumn[] {
  if (!alongColumns(node, 0)) throw new NotASum('a concatenation of rows');
  return node.input.flatMap((_, position) => operands.columns(position));
}

function gatherColumns(node: OnnxNode, operands: Operands): readonly SumColumn[] {
  if (!alongColumns(node, 0)) throw new NotASum('a selection of rows');
  return pickColumns(operands);
}

function pickColumns(operands: Operands): readonly SumColumn[] {
  const picked = operands.stored(1);
  if (picked === undefined) throw new NotASum('columns selected by the input');
  const columns = operands.columns(0);
  return Array.from(picked.values, (value) => {
    const column = columns[value < 0 ? columns.length + value : value];
    if (column === undefined) throw new NotASum(`column ${value} of ${columns.length}`);
    return column;
  });
}
