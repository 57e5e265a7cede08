import type { BundleFiles } from '../../../shared/bundle/bundle-files.js';
import { packSample, sampleParts } from '../models/sample-bundle.js';
import {
  ints,
  type SampleAttribute,
  type SampleModel,
  type SampleNode,
  type SampleTensor,
  strings,
  tensorValue,
  treeModel,
} from '../models/sample-onnx.js';

/* Models that pass every check of a bundle and slow down, hang or crash the process that runs them. */

const float32Type = 1;
const int64Type = 7;
/** Rows and columns of the matrices that a slow model multiplies. */
const matrixSize = 1024; // one product takes some 40 ms
const largeMatrixSize = 4096; // one product takes some 2.5 s
const tooDeep = 30_000; // levels of a tree that need more stack than a thread has

/** A model whose run takes some 80 ms of a free core, for any number of rows. */
export const slowBundle = (): BundleFiles => packed(slowModel(2, matrixSize), 'Slow score');

/** A model whose run blocks the thread for minutes. */
export const hangingBundle = (): BundleFiles => packed(slowModel(200, largeMatrixSize), 'Hanging score');

/** A model that ends the process with a segmentation fault: ONNX descends its one tree recursively. */
export const crashingBundle = (version = '1.0.0'): BundleFiles => packed(deepTree(), 'Crashing score', version);

function packed(model: SampleModel, name: string, version = '1.0.0'): BundleFiles {
  const parts = sampleParts({ name, version });
  parts.model = model;
  parts.golden = undefined;
  return packSample(parts);
}

/** Multiplies matrices made from the input, so that ONNX cannot compute them when it loads the model. */
function slowModel(products: number, size: number): SampleModel {
  const multiply = Array.from({ length: products }, (_, index) => node('MatMul', [`m${index}`, 'm0'], `m${index + 1}`));
  return {
    irVersion: 8,
    opsetImport: [{ domain: '', version: 15 }],
    graph: {
      name: 'slow',
      node: [
        node('ReduceSum', ['input', 'axes'], 'sums', [keepDimensions]),
        node('ReduceMax', ['sums'], 'one', [ints('axes', [0]), keepDimensions]),
        node('Expand', ['one', 'shape'], 'm0'),
        ...multiply,
        node('ReduceMin', [`m${products}`], 'last', [ints('axes', [0, 1]), keepDimensions]),
        node('Mul', ['sums', 'last'], 'raw'),
        node('Sigmoid', ['raw'], 'probabilities'),
      ],
      input: [tensorValue('input', float32Type, [undefined, 6])],
      output: [tensorValue('probabilities', float32Type, [undefined, 1])],
      initializer: [wholeNumbers('axes', [1]), wholeNumbers('shape', [size, size])],
    },
  };
}

/** One tree with one node per level: x0 <= -i ? a leaf : the next level. */
function deepTree(): SampleModel {
  const model = treeModel(6);
  const all = Array.from({ length: 2 * tooDeep + 1 }, (_, index) => index);
  const leaves = all.slice(tooDeep);
  const isBranch = (index: number): boolean => index < tooDeep;
  const replaced: readonly SampleAttribute[] = [
    ints(
      'nodes_treeids',
      all.map(() => 0),
    ),
    ints('nodes_nodeids', all),
    ints(
      'nodes_featureids',
      all.map(() => 0),
    ),
    strings(
      'nodes_modes',
      all.map((index) => (isBranch(index) ? 'BRANCH_LEQ' : 'LEAF')),
    ),
    { name: 'nodes_values', type: 6, floats: all.map((index) => -index) },
    ints(
      'nodes_falsenodeids',
      all.map((index) => (isBranch(index) ? index + 1 : 0)),
    ),
    ints(
      'nodes_truenodeids',
      all.map((index) => (isBranch(index) ? tooDeep + 1 + index : 0)),
    ),
    ints(
      'class_treeids',
      leaves.map(() => 0),
    ),
    ints('class_nodeids', leaves),
    ints(
      'class_ids',
      leaves.map(() => 0),
    ),
    { name: 'class_weights', type: 6, floats: leaves.map(() => 0.1) },
  ];
  const names = new Set(replaced.map(({ name }) => name));
  for (const { attribute } of model.graph.node) {
    const others = attribute.filter(({ name }) => !names.has(name));
    attribute.splice(0, attribute.length, ...others, ...replaced);
  }
  return model;
}

const keepDimensions: SampleAttribute = { name: 'keepdims', type: 2, i: 1 };

const node = (opType: string, input: string[], output: string, attribute: SampleAttribute[] = []): SampleNode => ({
  opType,
  input,
  output: [output],
  attribute,
});

function wholeNumbers(name: string, values: number[]): SampleTensor {
  return { name, dims: [values.length], dataType: int64Type, int64Data: values };
}
