import type { BundleFiles } from '../../../shared/bundle/bundle-files.js';
import { packSample, type SampleOptions, sampleParts } from './sample-bundle.js';
import {
  floats,
  ints,
  type SampleAttribute,
  type SampleModel,
  type SampleNode,
  type SampleTensor,
  strings,
  tensorValue,
} from './sample-onnx.js';

/* Graphs of a few operators over an input of three numbers. A test may state what each computes. */

const float = 1;
const int64 = 7;
const boolean = 9;
const half = 10;
/** Columns of the input `x`. */
const graphWidth = 3;

type Kind = 'probability' | 'logit';

export interface GraphOptions {
  readonly nodes: readonly SampleNode[];
  readonly stored?: readonly SampleTensor[];
  /** Columns of the output `y`; a list for another shape. 1 by default. */
  readonly classes?: number | readonly (number | undefined)[];
  readonly kind?: Kind;
  readonly opset?: number;
  readonly options?: SampleOptions;
}

/** A bundle of three number features `a`, `b` and `c` without golden records, whose graph computes `y` from `x`. */
export function graphBundle({ nodes, stored = [], classes = 1, kind, opset = 18, options }: GraphOptions): BundleFiles {
  const features = ['a', 'b', 'c'].map((field, column) => ({
    ...{ field, label: field, type: 'number' as const, columns: [column], impute: 0 },
  }));
  const parts = sampleParts({ features, ...options });
  const shape = typeof classes === 'number' ? [undefined, classes] : [...classes];
  const model: SampleModel = {
    irVersion: 8,
    opsetImport: [
      { domain: '', version: opset },
      { domain: 'ai.onnx.ml', version: 3 },
    ],
    graph: {
      name: 'small',
      node: [...nodes],
      input: [tensorValue('x', float, [undefined, graphWidth])],
      output: [tensorValue('y', float, shape)],
      initializer: [...stored],
    },
  };
  const onnx = { ...parts.manifest.onnx, input: 'x', output: 'y', ...(kind === undefined ? {} : { kind }) };
  return packSample({ ...parts, manifest: { ...parts.manifest, onnx }, model, golden: undefined });
}

/** An operator with one output. */
export const op = (opType: string, input: string[], output: string, attribute: SampleAttribute[] = []): SampleNode => ({
  ...{ opType, input, output: [output], attribute },
  ...(machineLearning.has(opType) && { domain: 'ai.onnx.ml' }),
});
const machineLearning = new Set(['Scaler', 'TreeEnsembleRegressor', 'ArrayFeatureExtractor']);

export const integer = (name: string, value: number): SampleAttribute => ({ name, type: 2, i: value });

/** Stored numbers of float32, with the shape. */
export const numbers = (name: string, dims: number[], values: number[]): SampleTensor => ({
  ...{ name, dims, dataType: float, floatData: values },
});
export const wholes = (name: string, values: number[]): SampleTensor => ({
  ...{ name, dims: [values.length], dataType: int64, int64Data: values },
});
export const truth = (name: string, value: boolean): SampleTensor => ({
  ...{ name, dims: [], dataType: boolean, int32Data: [value ? 1 : 0] },
});
/** The type of `Cast` to float16 and back. */
export const castTo = { half: integer('to', half), float: integer('to', float) };

/** `s` = 0.3 a - 0.2 b + 0.1 c: [N, 1]. */
export const weightedSum = op('MatMul', ['x', 'w'], 's');
export const weights = numbers('w', [graphWidth, 1], [0.3, -0.2, 0.1]);
/** `t`: two such sums, [N, 2]. */
export const twoSums = op('MatMul', ['x', 'w2'], 't');
export const twoWeights = numbers('w2', [graphWidth, 2], [0.3, 0.1, -0.2, 0.4, 0.1, -0.3]);

/** A forest of one tree with one branch: column `feature` <= 10 ? `low` : `high`. */
export function stump(feature: number, [low, high]: readonly [number, number], input = 'x', output = 'y'): SampleNode {
  return op('TreeEnsembleRegressor', [input], output, [
    ints('nodes_treeids', [0, 0, 0]),
    ints('nodes_nodeids', [0, 1, 2]),
    ints('nodes_featureids', [feature, 0, 0]),
    strings('nodes_modes', ['BRANCH_LEQ', 'LEAF', 'LEAF']),
    floats('nodes_values', [10, 0, 0]),
    ints('nodes_truenodeids', [1, 0, 0]),
    ints('nodes_falsenodeids', [2, 0, 0]),
    ints('target_treeids', [0, 0]),
    ints('target_nodeids', [1, 2]),
    ints('target_ids', [0, 0]),
    floats('target_weights', [low, high]),
    integer('n_targets', 1),
  ]);
}

/** A forest of one leaf. */
export const singleLeaf: SampleNode = op('TreeEnsembleRegressor', ['x'], 'y', [
  ints('nodes_treeids', [0]),
  ints('nodes_nodeids', [0]),
  ints('nodes_featureids', [0]),
  strings('nodes_modes', ['LEAF']),
  floats('nodes_values', [0]),
  ints('nodes_truenodeids', [0]),
  ints('nodes_falsenodeids', [0]),
  ints('target_treeids', [0]),
  ints('target_nodeids', [0]),
  ints('target_ids', [0]),
  floats('target_weights', [0.4]),
  integer('n_targets', 1),
]);
