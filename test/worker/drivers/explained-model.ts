import type { OnnxReference } from '../../../shared/bundle/manifest/manifest.js';
import { readOnnxModel } from '../../../shared/bundle/onnx/onnx-model.js';
import { graphColumns } from '../../../worker/drivers/graph/graph-columns.js';
import { explainTrees } from '../../../worker/drivers/trees/tree-contributions.js';
import {
  encodeOnnx,
  type SampleAttribute,
  type SampleModel,
  type SampleNode,
  type SampleTensor,
  tensorValue,
} from '../../support/models/sample-onnx.js';
import { type TestNode, treeAttributes } from './test-trees.js';

const floatType = 1;
const int64Type = 7;

/** A model in one converter's form, and its output as declared in a manifest. */
export interface ModelForm {
  readonly model: SampleModel;
  readonly kind?: OnnxReference['kind'];
  readonly positiveClass?: number;
}

/** A graph of operators from `input` to `output`; classifiers also have the output `label`. */
export function graphModel(
  node: SampleNode[],
  of: {
    readonly width: number;
    readonly outputs?: number;
    readonly initializer?: SampleTensor[];
    readonly ml?: number;
  },
): SampleModel {
  const classifies = node.some(({ output }) => output.includes('label'));
  return {
    irVersion: 8,
    opsetImport: [
      { domain: 'ai.onnx.ml', version: of.ml ?? 3 },
      { domain: '', version: 15 },
    ],
    graph: {
      name: 'test',
      node,
      input: [tensorValue('input', floatType, [undefined, of.width])],
      output: [
        ...(classifies ? [tensorValue('label', int64Type, [undefined])] : []),
        tensorValue('output', floatType, [undefined, of.outputs ?? 1]),
      ],
      initializer: of.initializer ?? [],
    },
  };
}

/** One operator of ai.onnx.ml. */
export const learned = (
  opType: string,
  attribute: SampleAttribute[],
  names: { readonly input?: string; readonly output?: string[] } = {},
): SampleNode => ({
  opType,
  domain: 'ai.onnx.ml',
  input: [names.input ?? 'input'],
  output: names.output ?? ['output'],
  attribute,
});

/** One operator of the default domain. */
export const plain = (
  opType: string,
  input: string[],
  output: string,
  attribute: SampleAttribute[] = [],
): SampleNode => ({ opType, input, output: [output], attribute });

/** A regressor that returns the sum of trees. */
export function regressor(trees: readonly TestNode[], width: number): { model: SampleModel; covers: number[] } {
  const { attributes, covers } = treeAttributes(trees, 'target');
  const node = learned('TreeEnsembleRegressor', [...attributes, { name: 'n_targets', type: 2, i: 1 }]);
  return { model: graphModel([node], { width }), covers };
}

/** Explains one row of a tree model; each column is a field of its own. */
export async function explainRow(
  { model, covers }: { readonly model: SampleModel; readonly covers: readonly number[] | undefined },
  row: readonly number[],
  { isProbability = false } = {},
): Promise<{ contributions: number[]; base: number }> {
  const { graph } = readOnnxModel(encodeOnnx(model));
  const width = row.length;
  const [column] = graphColumns(graph, { output: 'output', input: 'input', width });
  if (column === undefined) throw new Error('the graph has no output column');
  const explainer = explainTrees({
    sum: column.sum,
    isProbability,
    covers: covers && Float32Array.from(covers),
    width,
    fields: width,
    fieldOfColumn: Int32Array.from({ length: width }, (_, index) => index),
  });
  const contributions = await explainer.contributions({ rows: Float32Array.from(row), count: 1 });
  return { contributions: Array.from(contributions), base: explainer.base };
}
