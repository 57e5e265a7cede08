/** Element types of ONNX tensors (`TensorProto.DataType`). */
export const ONNX_FLOAT = 1;
export const ONNX_STRING = 8;
export const ONNX_DOUBLE = 11;

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
