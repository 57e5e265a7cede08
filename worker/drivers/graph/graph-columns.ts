import { countTreeNodes } from '../../../shared/bundle/onnx/check-covers.js';
import type { OnnxGraph, OnnxNode, OnnxTensor } from '../../../shared/bundle/onnx/onnx-model.js';
import type { TreeInput } from '../trees/tree-ensemble.js';
import { tensorOperator } from './arithmetic-columns.js';
import {
  classifierColumns,
  linearClassifierColumns,
  linearRegressorColumns,
  regressorColumns,
  type TreeOperand,
  treeEnsembleColumns,
} from './score-columns.js';
import { columnSum, NotASum, type Operands, type StoredValues, type SumColumn } from './sum.js';
import { tensorValues } from './tensor-values.js';

const treeOperators: Readonly<Record<string, (node: OnnxNode, operand: TreeOperand) => SumColumn[]>> = {
  TreeEnsembleClassifier: classifierColumns,
  TreeEnsembleRegressor: regressorColumns,
  TreeEnsemble: treeEnsembleColumns,
};

/**
 * Reads the columns of a graph's output as sums of trees and weighted input columns, or as logistic functions of such
 * sums. It works backwards from the output, so a neural network fails at its last non-linear layer.
 * @param from the output's name, and the name and width of the graph's input
 * @throws NotASum for any other function; the message names the operator
 */
export function graphColumns(
  graph: OnnxGraph,
  from: { readonly output: string; readonly input: string; readonly width: number },
): readonly SumColumn[] {
  return new GraphReader(graph, from).columns(from.output);
}

class GraphReader {
  private readonly known = new Map<string, readonly SumColumn[]>();
  private readonly initializers: ReadonlyMap<string, OnnxTensor>;
  private readonly producers = new Map<string, { node: OnnxNode; output: number; firstCover: number }>();

  constructor(graph: OnnxGraph, input: { readonly input: string; readonly width: number }) {
    this.initializers = new Map(graph.initializer.map((tensor) => [tensor.name, tensor]));
    let firstCover = 0;
    for (const node of graph.node) {
      for (const [output, name] of node.output.entries()) this.producers.set(name, { node, output, firstCover });
      firstCover += countTreeNodes({ ...graph, node: [node] });
    }
    this.known.set(
      input.input,
      Array.from({ length: input.width }, (_, column) => ({ sum: columnSum(column), isLogistic: false })),
    );
  }

  columns(name: string): readonly SumColumn[] {
    const known = this.known.get(name);
    if (known !== undefined) return known;
    const producer = this.producers.get(name);
    if (producer === undefined) throw new NotASum(`"${name}" is not computed from the input`);
    const columns = this.columnsOf(producer);
    this.known.set(name, columns);
    return columns;
  }

  private columnsOf({
    node,
    output,
    firstCover,
  }: {
    node: OnnxNode;
    output: number;
    firstCover: number;
  }): readonly SumColumn[] {
    const operands = this.operandsOf(node);
    const readTrees = treeOperators[node.opType];
    const scoresOutput = node.opType.endsWith('Classifier') ? 1 : 0;
    if (output !== scoresOutput) throw new NotASum(`output ${output} of ${node.opType} is not a score`);
    if (readTrees !== undefined) return readTrees(node, { inputs: treeInputs(operands.columns(0)), firstCover });
    if (node.opType === 'LinearClassifier') return linearClassifierColumns(node, operands.columns(0));
    if (node.opType === 'LinearRegressor') return linearRegressorColumns(node, operands.columns(0));
    const operator = tensorOperator(node.opType);
    if (operator === undefined) throw new NotASum(`the operator ${node.opType} is neither trees nor a weighted sum`);
    return operator(node, operands);
  }

  private operandsOf(node: OnnxNode): Operands {
    const nameAt = (position: number): string => node.input[position] ?? '';
    return {
      columns: (position) => this.columns(nameAt(position)),
      stored: (position) => this.stored(nameAt(position)),
    };
  }

  private stored(name: string): StoredValues | undefined {
    const producer = this.producers.get(name)?.node;
    const constant = producer?.opType === 'Constant' ? producer.attribute : [];
    const tensor = this.initializers.get(name) ?? constant.find((attribute) => attribute.t !== null)?.t;
    if (tensor === undefined || tensor === null) return undefined;
    return { dims: tensor.dims, values: tensorValues(tensor) };
  }
}

/** Trees may read input columns selected, reordered or scaled, but not combined. */
function treeInputs(columns: readonly SumColumn[]): TreeInput[] {
  return columns.map(({ sum, isLogistic }) => {
    const [only, ...further] = sum.weights;
    if (only === undefined || further.length > 0 || sum.trees.length > 0 || isLogistic)
      throw new NotASum('the trees read something computed from several columns');
    return { column: only[0], weight: only[1], offset: sum.constant };
  });
}
