import protobuf from 'protobufjs/light.js';
import { BundleError } from './bundle-error.js';
import { onnxModelType } from './onnx-proto.js';

/** An ONNX file, as read. Absent numbers are 0, absent texts empty, absent messages null, absent lists empty. */
export interface OnnxModel {
  readonly irVersion: number;
  readonly producerName: string;
  readonly graph: OnnxGraph;
  readonly opsetImport: readonly { readonly domain: string; readonly version: number }[];
  readonly trainingInfo: readonly unknown[];
  readonly functions: readonly { readonly name: string; readonly domain: string }[];
}

export interface OnnxGraph {
  readonly name: string;
  readonly node: readonly OnnxNode[];
  readonly initializer: readonly OnnxTensor[];
  readonly sparseInitializer: readonly OnnxSparseTensor[];
  readonly input: readonly OnnxValue[];
  readonly output: readonly OnnxValue[];
}

export interface OnnxNode {
  readonly name: string;
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
  /** One of `ONNX_TYPE_NAMES`. */
  readonly dataType: number;
  /** The values lie in one of these, by type, or little-endian in `rawData`. */
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

/** A graph's input or output. */
export interface OnnxValue {
  readonly name: string;
  readonly type: { readonly tensorType: OnnxTensorType | null } | null;
}

export interface OnnxTensorType {
  readonly elemType: number;
  readonly shape: { readonly dim: readonly OnnxDimension[] } | null;
}

/** A size, or the name of one, or neither: `value` says which of the two is set. */
export interface OnnxDimension {
  readonly value?: 'dimValue' | 'dimParam';
  readonly dimValue: number;
  readonly dimParam: string;
}

/**
 * The work that one file may cause while being read, in units of one integer. A tree model of 64 MiB needs about 16
 * million (it has many integers and texts but few messages); a file made of empty messages, two bytes each, would
 * otherwise fill gigabytes of memory.
 */
const READING_BUDGET = 24_000_000;
const COST_OF_TEXT = 2;
const COST_OF_MESSAGE = 100;

/** A reader that gives 64-bit integers as plain numbers (ids and sizes, all far below 2^53) and keeps to the budget. */
function thriftyReader(bytes: Uint8Array): protobuf.Reader {
  const reader = new protobuf.Reader(bytes);
  const readLong = reader.int64.bind(reader);
  const readSize = reader.size.bind(reader);
  const readText = reader.stringVerify.bind(reader);
  let spent = 0;
  const spend = (cost: number): void => {
    spent += cost;
    if (spent > READING_BUDGET) throw new Error('it has more parts than any scoring model needs');
  };
  return Object.assign(reader, {
    int64: () => {
      spend(1);
      const { high, low } = readLong();
      return high * 2 ** 32 + (low >>> 0);
    },
    // Both messages and texts begin with their size.
    size: () => {
      spend(COST_OF_MESSAGE);
      return readSize();
    },
    stringVerify: () => {
      spend(COST_OF_TEXT - COST_OF_MESSAGE);
      return readText();
    },
  });
}

/**
 * Reads an ONNX file.
 * @param bytes the file
 * @param member its name, for the message
 * @returns the model; tensors' `rawData` are views of `bytes`
 * @throws BundleError when the bytes are not an ONNX model with a graph
 */
export function readOnnxModel(bytes: Uint8Array, member = 'model.onnx'): OnnxModel {
  let model: DecodedModel;
  try {
    model = onnxModelType().decode(thriftyReader(bytes)) as unknown as DecodedModel;
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw new BundleError(member, `cannot be read as an ONNX model: ${detail}`, { cause: error });
  }
  const { graph } = model;
  if (graph === null) throw new BundleError(member, 'cannot be read as an ONNX model: it holds no graph');
  return Object.assign(model, { graph });
}

/** What the decoder gives for the schema of `onnx-proto.ts`. */
type DecodedModel = Omit<OnnxModel, 'graph'> & { readonly graph: OnnxGraph | null };
