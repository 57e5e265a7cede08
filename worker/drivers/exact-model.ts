import type { OnnxReference } from '../../shared/bundle/manifest/manifest.js';
import { readOnnxModel } from '../../shared/bundle/onnx/onnx-model.js';
import { drawnRows } from './check-rows.js';
import { type ExactExplainer, type FieldColumns, type InputRows, logOdds, scaleToLogOdds } from './contributions.js';
import { graphColumns } from './graph/graph-columns.js';
import { NotASum, type Sum } from './graph/sum.js';
import { type PreparedTrees, prepareTrees } from './trees/prepared-trees.js';
import { explainPreparedTrees } from './trees/tree-contributions.js';

/** Input for reading a model that is to be explained exactly. */
export interface ExactRequest extends FieldColumns {
  /** The ONNX file. */
  readonly onnx: Uint8Array;
  /** Node weights of the bundle's trees (`covers.f32`). */
  readonly covers: Float32Array | undefined;
  readonly reference: Pick<OnnxReference, 'input' | 'output' | 'kind' | 'positive_class'>;
  /** Reference values of a linear model's contributions. */
  readonly means: ArrayLike<number>;
  /** Whether check rows must be drawn, because the bundle has no golden records. */
  readonly needsRows: boolean;
}

/** The data of an exact explainer. It is plain data, so it can be posted between threads. */
export interface ExactModel {
  readonly made: { readonly linear: LinearModel } | { readonly trees: PreparedTrees };
  readonly drawn: InputRows | undefined;
}

/**
 * Reads and prepares a model from its ONNX file. It takes about 0.1 s per megabyte.
 * @throws NotASum unless the model is a sum of trees or of weighted columns; BundleError if it is unreadable
 */
export function readExactModel(request: ExactRequest): ExactModel {
  const { covers, width, fields, fieldOfColumn, means, needsRows } = request;
  const { sum, isProbability } = outputSum(request);
  if (sum.trees.length > 0 && sum.weights.size > 0) throw new NotASum('the model combines trees and weighted columns');
  const isLinear = sum.trees.length === 0;
  const common = { sum, isProbability, width, fields, fieldOfColumn };
  const made = isLinear ? { linear: { ...common, means } } : { trees: prepareTrees({ ...common, covers }) };
  const drawn = needsRows ? drawnRows(sum, { width, means: isLinear ? means : undefined }) : undefined;
  return { made, drawn };
}

/** Creates the explainer of a model. */
export const exactExplainer = ({ made }: ExactModel): ExactExplainer =>
  'linear' in made ? explainLinear(made.linear) : explainPreparedTrees(made.trees);

/** The output of the positive class as a sum: log-odds or a probability. */
function outputSum({ onnx, reference, width }: ExactRequest): { sum: Sum; isProbability: boolean } {
  const { graph } = readOnnxModel(onnx);
  const columns = graphColumns(graph, { output: reference.output, input: reference.input, width });
  const column = columns.length === 1 ? columns[0] : columns[reference.positive_class];
  if (column === undefined) throw new NotASum('the output lacks the column of the positive class');
  if (reference.kind === 'logit' && column.isLogistic)
    throw new NotASum('the manifest declares a logit, but the output is a probability');
  return { sum: column.sum, isProbability: reference.kind === 'probability' && !column.isLogistic };
}

interface LinearModel extends FieldColumns {
  /** A weighted sum of input columns; log-odds, or a probability when `isProbability`. */
  readonly sum: Sum;
  readonly isProbability: boolean;
  /** The mean of each input column over the training rows, or a reference row. */
  readonly means: ArrayLike<number>;
}

/** Exact Shapley values of a linear model with independent columns: weight * (x - mean). */
function explainLinear(model: LinearModel): ExactExplainer {
  const { sum, isProbability, means, width, fields, fieldOfColumn } = model;
  const terms = Array.from(sum.weights, ([column, weight]) => ({
    column,
    weight,
    mean: means[column] ?? 0,
    field: fieldOfColumn[column] ?? 0,
  }));
  const expected = terms.reduce((total, { weight, mean }) => total + weight * mean, sum.constant);
  return {
    method: 'linear',
    base: isProbability ? logOdds(expected) : expected,
    contributions: async ({ rows, count }: InputRows) => {
      const out = new Float64Array(count * fields);
      for (let record = 0; record < count; record += 1) {
        for (const { column, weight, mean, field } of terms) {
          const at = record * fields + field;
          out[at] = (out[at] ?? 0) + weight * ((rows[record * width + column] ?? Number.NaN) - mean);
        }
      }
      if (isProbability) scaleToLogOdds(out, { base: expected, fields });
      return out;
    },
  };
}
