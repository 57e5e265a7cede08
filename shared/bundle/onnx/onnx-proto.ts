import protobuf from 'protobufjs/light.js';

/**
 * The messages of the public `onnx.proto` (IR version 13) that the checks and the explainer read, in the reflection
 * form of protobufjs. Field numbers are those of the standard; the decoder skips the fields left out. String attributes
 * have the type `string` although the standard says `bytes`: both are equal on the wire.
 */
const onnxMessages = {
  ModelProto: {
    irVersion: [1, 'int64'],
    graph: [7, 'GraphProto'],
    opsetImport: [8, 'OperatorSetIdProto', 'repeated'],
    trainingInfo: [20, 'Presence', 'repeated'],
    functions: [25, 'FunctionProto', 'repeated'],
  },
  OperatorSetIdProto: { domain: [1, 'string'], version: [2, 'int64'] },
  FunctionProto: { name: [1, 'string'], domain: [10, 'string'] },
  /** Any message of which only the presence matters. */
  Presence: {},
  GraphProto: {
    node: [1, 'NodeProto', 'repeated'],
    name: [2, 'string'],
    initializer: [5, 'TensorProto', 'repeated'],
    input: [11, 'ValueInfoProto', 'repeated'],
    output: [12, 'ValueInfoProto', 'repeated'],
    sparseInitializer: [15, 'SparseTensorProto', 'repeated'],
  },
  NodeProto: {
    input: [1, 'string', 'repeated'],
    output: [2, 'string', 'repeated'],
    name: [3, 'string'],
    opType: [4, 'string'],
    attribute: [5, 'AttributeProto', 'repeated'],
    domain: [7, 'string'], // empty or `ai.onnx` for the standard operators
  },
  AttributeProto: {
    name: [1, 'string'],
    f: [2, 'float'],
    i: [3, 'int64'],
    s: [4, 'string'],
    t: [5, 'TensorProto'],
    g: [6, 'GraphProto'],
    floats: [7, 'float', 'unpacked'],
    ints: [8, 'int64', 'unpacked'],
    strings: [9, 'string', 'repeated'],
    tensors: [10, 'TensorProto', 'repeated'],
    graphs: [11, 'GraphProto', 'repeated'],
    type: [20, 'int32'],
    sparseTensor: [22, 'SparseTensorProto'],
    sparseTensors: [23, 'SparseTensorProto', 'repeated'],
  },
  TensorProto: {
    dims: [1, 'int64', 'unpacked'],
    dataType: [2, 'int32'], // see `elementTypeName`
    // The values are in the list of their type, or little-endian in `rawData`.
    floatData: [4, 'float', 'repeated'],
    int32Data: [5, 'int32', 'repeated'],
    stringData: [6, 'bytes', 'repeated'],
    int64Data: [7, 'int64', 'repeated'],
    name: [8, 'string'],
    rawData: [9, 'bytes'],
    doubleData: [10, 'double', 'repeated'],
    externalData: [13, 'StringStringEntryProto', 'repeated'],
    dataLocation: [14, 'int32'],
  },
  StringStringEntryProto: { key: [1, 'string'], value: [2, 'string'] },
  SparseTensorProto: {
    values: [1, 'TensorProto'],
    indices: [2, 'TensorProto'],
    dims: [3, 'int64', 'unpacked'],
  },
  ValueInfoProto: { name: [1, 'string'], type: [2, 'TypeProto'] },
  TypeProto: {
    tensorType: [1, 'TensorType'],
    sequenceType: [4, 'Presence'],
    mapType: [5, 'Presence'],
  },
  TensorType: { elemType: [1, 'int32'], shape: [2, 'TensorShapeProto'] },
  TensorShapeProto: { dim: [1, 'Dimension', 'repeated'] },
  Dimension: { dimValue: [1, 'int64'], dimParam: [2, 'string'] },
} as const satisfies Record<string, Readonly<Record<string, FieldShape>>>;

type FieldShape = readonly [id: number, type: string, rule?: 'repeated' | 'unpacked'];
type Messages = typeof onnxMessages;

interface Scalars {
  readonly string: string;
  readonly bytes: Uint8Array;
  readonly float: number;
  readonly double: number;
  readonly int32: number;
  readonly int64: number;
}

type Decoded<Type> = Type extends keyof Scalars
  ? Scalars[Type]
  : Type extends keyof Messages
    ? OnnxMessage<Type>
    : never;

/** A decoded message. Absent numbers are 0, absent strings and lists empty, absent messages null. */
export type OnnxMessage<Name extends keyof Messages> = {
  readonly [Field in keyof Messages[Name]]: Messages[Name][Field] extends readonly [number, infer Type, string]
    ? readonly Decoded<Type>[]
    : Messages[Name][Field] extends readonly [number, infer Type]
      ? Decoded<Type> | (Type extends keyof Messages ? null : never)
      : never;
};

function messageType(name: string, shapes: Readonly<Record<string, FieldShape>>): protobuf.IType {
  const declared = Object.entries(shapes).map(([field, [id, type, rule]]) => {
    if (rule === undefined) return [field, { id, type }];
    return [field, { id, type, rule: 'repeated', ...(rule === 'unpacked' ? { options: { packed: false } } : {}) }];
  });
  // A dimension gets a member `value`: whether its size or its name is set.
  const oneofs = name === 'Dimension' ? { value: { oneof: ['dimValue', 'dimParam'] } } : {};
  return { fields: Object.fromEntries(declared), oneofs };
}

let modelType: protobuf.Type | undefined;

/** The protobuf type of an ONNX file, to decode and (in tests) encode. Its code is generated once, in milliseconds. */
export function onnxModelType(): protobuf.Type {
  modelType ??= newModelType();
  return modelType;
}

function newModelType(): protobuf.Type {
  const types = Object.entries(onnxMessages).map(([name, shapes]) => [name, messageType(name, shapes)] as const);
  const root = protobuf.Root.fromJSON({ nested: { onnx: { nested: Object.fromEntries(types) } } });
  for (const name of Object.keys(onnxMessages)) absentIntegersAreZero(root.lookupType(`onnx.${name}`));
  return root.lookupType('onnx.ModelProto');
}

/** By default an absent int64 is a Long object of value 0, but `readOnnxModel` gives plain numbers. */
function absentIntegersAreZero(type: protobuf.Type): void {
  const prototype: object = type.ctor.prototype;
  for (const field of type.fieldsArray) {
    if (field.type === 'int64' && !field.repeated) Object.assign(prototype, { [field.name]: 0 });
  }
}
