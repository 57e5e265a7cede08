import protobuf from 'protobufjs/light.js';
import { BundleError } from '../bundle-error.js';
import { type OnnxMessage, onnxModelType } from './onnx-proto.js';

/** A decoded ONNX file. */
export type OnnxModel = Omit<OnnxMessage<'ModelProto'>, 'graph'> & { readonly graph: OnnxGraph };
export type OnnxGraph = OnnxMessage<'GraphProto'>;
export type OnnxNode = OnnxMessage<'NodeProto'>;
export type OnnxAttribute = OnnxMessage<'AttributeProto'>;
export type OnnxTensor = OnnxMessage<'TensorProto'>;
export type OnnxSparseTensor = OnnxMessage<'SparseTensorProto'>;
/** Input or output of a graph. */
export type OnnxValue = OnnxMessage<'ValueInfoProto'>;
export type OnnxTensorType = OnnxMessage<'TensorType'>;
/** `value` says whether the size or the name of a dimension is set; absent if neither is. */
export type OnnxDimension = OnnxMessage<'Dimension'> & { readonly value?: 'dimValue' | 'dimParam' };

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
  let model: OnnxMessage<'ModelProto'>;
  try {
    model = onnxModelType().decode(limitedReader(bytes)) as unknown as typeof model;
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw new BundleError(member, `cannot be read as an ONNX model: ${detail}`, { cause: error });
  }
  const { graph } = model;
  if (graph === null) throw new BundleError(member, 'cannot be read as an ONNX model: it holds no graph');
  return Object.assign(model, { graph });
}

/** Element types of ONNX tensors (`TensorProto.DataType`). */
export const onnxFloat = 1;
export const onnxInteger = 7;
export const onnxString = 8;
export const onnxBoolean = 9;
export const onnxHalf = 10;
export const onnxDouble = 11;
export const onnxBrainFloat = 16;

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
