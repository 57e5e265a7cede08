import type { OnnxAttribute, OnnxNode, OnnxTensor } from '../../../shared/bundle/onnx/onnx-model.js';
import { NotASum } from './sum.js';

type ReadOne = (view: DataView, index: number) => number;

interface ElementType {
  readonly bytes: number;
  readonly read: ReadOne;
  /** The typed list that holds the values if `rawData` is empty. */
  readonly listed: (tensor: OnnxTensor) => readonly number[];
}

/** Element types of weights, thresholds, modes and indices, by `TensorProto.DataType`. */
const elementTypes: Readonly<Record<number, ElementType>> = {
  1: { bytes: 4, read: (view, at) => view.getFloat32(4 * at, true), listed: (tensor) => tensor.floatData },
  2: { bytes: 1, read: (view, at) => view.getUint8(at), listed: (tensor) => tensor.int32Data },
  3: { bytes: 1, read: (view, at) => view.getInt8(at), listed: (tensor) => tensor.int32Data },
  6: { bytes: 4, read: (view, at) => view.getInt32(4 * at, true), listed: (tensor) => tensor.int32Data },
  7: {
    bytes: 8,
    read: (view, at) => Number(view.getBigInt64(8 * at, true)),
    listed: (tensor) => tensor.int64Data,
  },
  11: { bytes: 8, read: (view, at) => view.getFloat64(8 * at, true), listed: (tensor) => tensor.doubleData },
};

/**
 * The values of a stored tensor in row-major order.
 * @throws NotASum for element types other than float32, float64, uint8, int8, int32 and int64
 */
export function tensorValues(tensor: OnnxTensor): Float64Array {
  const type = elementTypes[tensor.dataType];
  if (type === undefined) throw new NotASum(`a tensor of type ${tensor.dataType} cannot be read`);
  const { rawData } = tensor;
  if (rawData.length === 0) return Float64Array.from(type.listed(tensor));
  const view = new DataView(rawData.buffer, rawData.byteOffset, rawData.byteLength);
  return Float64Array.from({ length: Math.floor(rawData.length / type.bytes) }, (_, at) => type.read(view, at));
}

/** Reads the attributes of one operator by name. */
export class Attributes {
  private readonly byName: ReadonlyMap<string, OnnxAttribute>;

  constructor(node: OnnxNode) {
    this.byName = new Map(node.attribute.map((attribute) => [attribute.name, attribute]));
  }

  /** Numbers of the attribute, its tensor or `<name>_as_tensor`; undefined if the list is empty or absent. */
  numbers(name: string): Float64Array | undefined {
    const own = this.byName.get(name);
    const tensor = own?.t ?? this.byName.get(`${name}_as_tensor`)?.t ?? null;
    if (tensor !== null) return tensorValues(tensor);
    const listed = own === undefined || own.floats.length > 0 ? own?.floats : own.ints;
    return listed === undefined || listed.length === 0 ? undefined : Float64Array.from(listed);
  }

  integers(name: string): readonly number[] {
    return this.byName.get(name)?.ints ?? [];
  }

  texts(name: string): readonly string[] {
    return this.byName.get(name)?.strings ?? [];
  }

  integer(name: string, otherwise: number): number {
    return this.byName.get(name)?.i ?? otherwise;
  }

  number(name: string, otherwise: number): number {
    return this.byName.get(name)?.f ?? otherwise;
  }

  text(name: string, otherwise: string): string {
    return this.byName.get(name)?.s || otherwise;
  }
}
