import protobuf from 'protobufjs/light.js';
import { BundleError } from '../bundle-error.js';
import { onnxModelType } from './onnx-proto.js';

/** A decoded ONNX file. Absent numbers are 0, absent strings and lists empty, absent messages null. */
export interface OnnxModel {
  readonly irVersion: number;
  readonly graph: OnnxGraph;
  readonly opsetImport: readonly { readonly domain: string; readonly version: number }[];
  readonly trainingInfo: readonly unknown[];
  readonly functions: readonly { readonly name: string }[];
}

export interface OnnxGraph {
  readonly node: readonly OnnxNode[];
  readonly initializer: readonly OnnxTensor[];
  readonly sparseInitializer: readonly OnnxSparseTensor[];
  readonly input: readonly OnnxValue[];
  readonly output: readonly OnnxValue[];
}

export interface OnnxNode {
  readonly opType: string;
  /** Empty or `ai.onnx` for the standard operators. */
  readonly domain: string;
  readonly input: readonly string[];
  readonly output: readonly string[];
  readonly attribute: readonly OnnxAttribute[];
}

export interface OnnxAttribute {
  readonly name: string;
  readonly f: number;
  readonly i: number;
  readonly s: string;
  readonly t: OnnxTensor | null;
  readonly g: OnnxGraph | null;
  readonly floats: readonly number[];
  readonly ints: readonly number[];
  readonly strings: readonly string[];
  readonly tensors: readonly OnnxTensor[];
  readonly graphs: readonly OnnxGraph[];
  readonly sparseTensor: OnnxSparseTensor | null;
  readonly sparseTensors: readonly OnnxSparseTensor[];
}

export interface OnnxTensor {
  readonly name: string;
  readonly dims: readonly number[];
  /** A `TensorProto.DataType`, see `elementTypeName`. */
  readonly dataType: number;
  /** The values are in the list of their type, or little-endian in `rawData`. */
  readonly floatData: readonly number[];
  readonly int32Data: readonly number[];
  readonly int64Data: readonly number[];
  readonly doubleData: readonly number[];
  readonly stringData: readonly Uint8Array[];
  readonly rawData: Uint8Array;
  readonly externalData: readonly { readonly key: string; readonly value: string }[];
  readonly dataLocation: number;
}

export interface OnnxSparseTensor {
  readonly values: OnnxTensor | null;
  readonly indices: OnnxTensor | null;
}

/** Input or output of a graph. */
export interface OnnxValue {
  readonly name: string;
  readonly type: { readonly tensorType: OnnxTensorType | null } | null;
}

export interface OnnxTensorType {
  readonly elemType: number;
  readonly shape: { readonly dim: readonly OnnxDimension[] } | null;
}

/** `value` says whether the size or the name of a dimension is set; absent if neither is. */
export interface OnnxDimension {
  readonly value?: 'dimValue' | 'dimParam';
  readonly dimValue: number;
  readonly dimParam: string;
}

/**
 * Limits the work of decoding one file, in units of one integer. Without it, a file of empty messages of two bytes each
 * would fill gigabytes of memory. A tree model of 64 MiB costs about 16 million units.
 */
const maxDecodingCost = 24_000_000;
const stringCost = 2;
const messageCost = 100;

/** Decodes 64-bit integers as plain numbers (ids and sizes below 2^53). Throws above the maximum cost. */
function limitedReader(bytes: Uint8Array): protobuf.Reader {
  const reader = new protobuf.Reader(bytes);
  const readLong = reader.int64.bind(reader);
  const readSize = reader.size.bind(reader);
  const readString = reader.stringVerify.bind(reader);
  let spent = 0;
  const spend = (cost: number): void => {
    spent += cost;
    if (spent > maxDecodingCost) throw new Error('it has more parts than any scoring model needs');
  };
  return Object.assign(reader, {
    int64: () => {
      spend(1);
      const { high, low } = readLong();
      return high * 2 ** 32 + (low >>> 0);
    },
    // Messages and strings both begin with their size.
    size: () => {
      spend(messageCost);
      return readSize();
    },
    stringVerify: () => {
      spend(stringCost - messageCost);
      return readString();
    },
  });
}

/**
 * Decodes an ONNX file.
 * @param member file name, for the message
 * @returns the model; `rawData` of its tensors are views of `bytes`
 * @throws BundleError when the bytes are not an ONNX model with a graph
 */
export function readOnnxModel(bytes: Uint8Array, member = 'model.onnx'): OnnxModel {
  let model: DecodedModel;
  try {
    model = onnxModelType().decode(limitedReader(bytes)) as unknown as DecodedModel;
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw new BundleError(member, `cannot be read as an ONNX model: ${detail}`, { cause: error });
  }
  const { graph } = model;
  if (graph === null) throw new BundleError(member, 'cannot be read as an ONNX model: it holds no graph');
  return Object.assign(model, { graph });
}

/** The decoder's result for the schema of `onnx-proto.ts`. */
type DecodedModel = Omit<OnnxModel, 'graph'> & { readonly graph: OnnxGraph | null };

/** Element types of ONNX tensors (`TensorProto.DataType`). */
export const onnxFloat = 1;
export const onnxString = 8;
export const onnxDouble = 11;

const elementTypeNames: Readonly<Record<number, string>> = {
  1: 'float32',
  2: 'uint8',
  3: 'int8',
  4: 'uint16',
  5: 'int16',
  6: 'int32',
  7: 'int64',
  8: 'string',
  9: 'bool',
  10: 'float16',
  11: 'float64',
  12: 'uint32',
  13: 'uint64',
  16: 'bfloat16',
};

/** The name of a `TensorProto.DataType` for a message, such as `float32`. */
export function elementTypeName(elementType: number): string {
  return elementTypeNames[elementType] ?? `type ${elementType}`;
}
