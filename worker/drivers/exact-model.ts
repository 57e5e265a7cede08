import type { OnnxReference } from '../../shared/bundle/manifest.js';
import { readOnnxModel } from '../../shared/bundle/onnx-model.js';
import { drawnRows } from './check-rows.js';
import type { ExactExplainer, InputRows } from './contributions.js';
import { graphColumns } from './graph/graph-columns.js';
import { NotASum, type Sum } from './graph/sum.js';
import { explainLinear, type LinearModel } from './linear-contributions.js';
import { type PreparedTrees, prepareTrees } from './prepared-trees.js';
import { explainPreparedTrees } from './tree-contributions.js';

/** What must be known of a model to explain it exactly. */
export interface ExactRequest {
  /** The ONNX file. */
  readonly onnx: Uint8Array;
  /** What the bundle says of its nodes' weights. */
  readonly covers: Float32Array | undefined;
  readonly reference: Pick<OnnxReference, 'input' | 'output' | 'kind' | 'positive_class'>;
  readonly width: number;
  /** Numbers a record, and the place of each input column's among them. */
  readonly fields: number;
  readonly fieldOfColumn: Int32Array;
  /** What a linear model's contributions are measured from. */
  readonly means: ArrayLike<number>;
  /** Whether rows to check the model on must be drawn: it has no golden records. */
  readonly needsRows: boolean;
}

/** What an exact explainer is made of: plain data, which can go from one thread to another. */
export interface ExactModel {
  readonly made: { readonly linear: LinearModel } | { readonly trees: PreparedTrees };
  readonly drawn: InputRows | undefined;
}

/**
 * Reads a model out of its ONNX file and makes it ready. Takes about 0.1 s for a megabyte, most of it in one piece.
 * @throws NotASum when it is neither a sum of trees nor of weighted columns; BundleError when the file cannot be read
 */
export async function readExactModel(request: ExactRequest): Promise<ExactModel> {
  const { covers, width, fields, fieldOfColumn, means, needsRows } = request;
  const { sum, isProbability } = outputSum(request);
  if (sum.trees.length > 0 && sum.weights.size > 0) throw new NotASum('trees and weighted columns together');
  const isLinear = sum.trees.length === 0;
  const common = { sum, isProbability, width, fields, fieldOfColumn };
  const made = isLinear
    ? { linear: { ...common, means } }
    : { trees: await prepareTrees({ ...common, covers }) };
  const drawn = needsRows ? drawnRows(sum, { width, means: isLinear ? means : undefined }) : undefined;
  return { made, drawn };
}

/** The explainer of a model that has been read. */
export const exactExplainer = ({ made }: ExactModel): ExactExplainer =>
  'linear' in made ? explainLinear(made.linear) : explainPreparedTrees(made.trees);

/** The positive class's output as a sum: log-odds, or a probability. */
function outputSum({ onnx, reference, width }: ExactRequest): { sum: Sum; isProbability: boolean } {
  const { graph } = readOnnxModel(onnx);
  const columns = graphColumns(graph, { output: reference.output, input: reference.input, width });
  const column = columns.length === 1 ? columns[0] : columns[reference.positive_class];
  if (column === undefined) throw new NotASum('the output lacks the column of the positive class');
  if (reference.kind === 'logit' && column.isLogistic)
    throw new NotASum('the output is said to be a logit, but is a probability');
  return { sum: column.sum, isProbability: reference.kind === 'probability' && !column.isLogistic };
}
