import { onnxModelType } from '../../../shared/bundle/onnx/onnx-proto.js';

/* ONNX models small enough to read, as plain objects that a test may change before they are encoded. */

export interface SampleModel {
  irVersion: number;
  opsetImport: { domain: string; version: number }[];
  graph: SampleGraph;
  functions?: { name: string; domain: string }[];
  trainingInfo?: object[];
}

interface SampleGraph {
  name: string;
  node: SampleNode[];
  input: SampleValue[];
  output: SampleValue[];
  initializer: SampleTensor[];
  sparseInitializer?: SampleSparseTensor[];
}

export interface SampleNode {
  opType: string;
  domain?: string;
  input: string[];
  output: string[];
  attribute: SampleAttribute[];
}

export interface SampleAttribute {
  name: string;
  type?: number;
  i?: number;
  f?: number;
  s?: string;
  ints?: number[];
  floats?: number[];
  strings?: string[];
  t?: SampleTensor;
  tensors?: SampleTensor[];
  g?: SampleGraph;
  graphs?: SampleGraph[];
  sparseTensor?: SampleSparseTensor;
}

export interface SampleTensor {
  name: string;
  dims: number[];
  dataType: number;
  floatData?: number[];
  doubleData?: number[];
  int32Data?: number[];
  int64Data?: number[];
  stringData?: Uint8Array[];
  externalData?: { key: string; value: string }[];
  dataLocation?: number;
}

interface SampleSparseTensor {
  values?: SampleTensor;
  indices?: SampleTensor;
}

export interface SampleValue {
  name: string;
  type: { tensorType?: SampleTensorType; sequenceType?: object };
}

interface SampleTensorType {
  elemType: number;
  shape?: { dim: { dimValue?: number; dimParam?: string }[] };
}

const FLOAT = 1;
const INT64 = 7;
const MACHINE_LEARNING = 'ai.onnx.ml';

/** An attribute that holds a list of whole numbers. */
export const ints = (name: string, values: number[]): SampleAttribute => ({ name, type: 7, ints: values });
/** An attribute that holds a list of numbers. */
export const floats = (name: string, values: number[]): SampleAttribute => ({
  name,
  type: 6,
  floats: values,
});
/** An attribute that holds a list of texts. */
export const strings = (name: string, values: string[]): SampleAttribute => ({
  name,
  type: 8,
  strings: values,
});
/** An attribute that holds a text. */
export const text = (name: string, value: string): SampleAttribute => ({ name, type: 3, s: value });

/** A tensor as input or output; `undefined` in the shape is a variable size. */
export function tensorValue(name: string, elemType: number, shape: (number | undefined)[]): SampleValue {
  const dim = shape.map((size) => (size === undefined ? { dimParam: 'N' } : { dimValue: size }));
  return { name, type: { tensorType: { elemType, shape: { dim } } } };
}

/** A stored tensor of one float. */
export const floatTensor = (name: string): SampleTensor => ({
  name,
  dims: [1],
  dataType: FLOAT,
  floatData: [1],
});

/** A logistic regression in the form of skl2onnx: sigmoid(weights·x + intercept) in column 1 of `probabilities`. */
export function linearModel(weights: readonly number[], intercept: number): SampleModel {
  const negated = weights.map((weight) => -weight);
  return classifier('LinearClassifier', weights.length, [
    floats('coefficients', [...negated, ...weights]),
    floats('intercepts', [-intercept, intercept]),
    ints('classlabels_ints', [0, 1]),
    text('post_transform', 'LOGISTIC'),
  ]);
}

/** A tree of five nodes on columns 0 and 1: x0 <= 10 ? (x1 <= 0.5 ? -1 : 0.5) : 1.5, through a sigmoid. */
export function treeModel(width: number): SampleModel {
  return classifier('TreeEnsembleClassifier', width, [
    ints('nodes_treeids', [0, 0, 0, 0, 0]),
    ints('nodes_nodeids', [0, 1, 2, 3, 4]),
    ints('nodes_featureids', [0, 1, 0, 0, 0]),
    strings('nodes_modes', ['BRANCH_LEQ', 'BRANCH_LEQ', 'LEAF', 'LEAF', 'LEAF']),
    floats('nodes_values', [10, 0.5, 0, 0, 0]),
    ints('nodes_truenodeids', [1, 2, 0, 0, 0]),
    ints('nodes_falsenodeids', [4, 3, 0, 0, 0]),
    ints('class_treeids', [0, 0, 0]),
    ints('class_nodeids', [2, 3, 4]),
    ints('class_ids', [0, 0, 0]),
    floats('class_weights', [-1, 0.5, 1.5]),
    ints('classlabels_int64s', [0, 1]),
    text('post_transform', 'LOGISTIC'),
  ]);
}

/** The number of training rows that reached each node of `treeModel`. */
export const treeCovers: readonly number[] = [100, 60, 40, 20, 40];

function classifier(opType: string, width: number, attribute: SampleAttribute[]): SampleModel {
  return {
    irVersion: 8,
    opsetImport: [
      { domain: MACHINE_LEARNING, version: 1 },
      { domain: '', version: 15 },
    ],
    graph: {
      name: 'sample',
      node: [
        {
          opType,
          domain: MACHINE_LEARNING,
          input: ['input'],
          output: ['label', 'probabilities'],
          attribute,
        },
      ],
      input: [tensorValue('input', FLOAT, [undefined, width])],
      output: [tensorValue('label', INT64, [undefined]), tensorValue('probabilities', FLOAT, [undefined, 2])],
      initializer: [],
    },
  };
}

/** The bytes of an ONNX file. */
export function encodeOnnx(model: SampleModel): Buffer {
  const type = onnxModelType();
  return Buffer.from(type.encode(type.fromObject({ ...model })).finish());
}
