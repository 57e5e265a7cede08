import protobuf from 'protobufjs/light.js';

/**
 * The messages of the public `onnx.proto` (IR version 13) that the checks and the explainer read, in the reflection
 * form of protobufjs. Field numbers are those of the standard; the decoder skips the fields left out. String attributes
 * have the type `string` although the standard says `bytes`: both are equal on the wire.
 */
const onnxMessages: Record<string, protobuf.IType> = {
  ModelProto: fields({
    irVersion: [1, 'int64'],
    graph: [7, 'GraphProto'],
    opsetImport: [8, 'OperatorSetIdProto', 'repeated'],
    trainingInfo: [20, 'Presence', 'repeated'],
    functions: [25, 'FunctionProto', 'repeated'],
  }),
  OperatorSetIdProto: fields({ domain: [1, 'string'], version: [2, 'int64'] }),
  FunctionProto: fields({ name: [1, 'string'], domain: [10, 'string'] }),
  /** Any message of which only the presence matters. */
  Presence: fields({}),
  GraphProto: fields({
    node: [1, 'NodeProto', 'repeated'],
    name: [2, 'string'],
    initializer: [5, 'TensorProto', 'repeated'],
    input: [11, 'ValueInfoProto', 'repeated'],
    output: [12, 'ValueInfoProto', 'repeated'],
    sparseInitializer: [15, 'SparseTensorProto', 'repeated'],
  }),
  NodeProto: fields({
    input: [1, 'string', 'repeated'],
    output: [2, 'string', 'repeated'],
    name: [3, 'string'],
    opType: [4, 'string'],
    attribute: [5, 'AttributeProto', 'repeated'],
    domain: [7, 'string'],
  }),
  AttributeProto: fields({
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
  }),
  TensorProto: fields({
    dims: [1, 'int64', 'unpacked'],
    dataType: [2, 'int32'],
    floatData: [4, 'float', 'repeated'],
    int32Data: [5, 'int32', 'repeated'],
    stringData: [6, 'bytes', 'repeated'],
    int64Data: [7, 'int64', 'repeated'],
    name: [8, 'string'],
    rawData: [9, 'bytes'],
    doubleData: [10, 'double', 'repeated'],
    externalData: [13, 'StringStringEntryProto', 'repeated'],
    dataLocation: [14, 'int32'],
  }),
  StringStringEntryProto: fields({ key: [1, 'string'], value: [2, 'string'] }),
  SparseTensorProto: fields({
    values: [1, 'TensorProto'],
    indices: [2, 'TensorProto'],
    dims: [3, 'int64', 'unpacked'],
  }),
  ValueInfoProto: fields({ name: [1, 'string'], type: [2, 'TypeProto'] }),
  TypeProto: fields({
    tensorType: [1, 'TensorType'],
    sequenceType: [4, 'Presence'],
    mapType: [5, 'Presence'],
  }),
  TensorType: fields({ elemType: [1, 'int32'], shape: [2, 'TensorShapeProto'] }),
  TensorShapeProto: fields({ dim: [1, 'Dimension', 'repeated'] }),
  Dimension: {
    ...fields({ dimValue: [1, 'int64'], dimParam: [2, 'string'] }),
    oneofs: { value: { oneof: ['dimValue', 'dimParam'] } },
  },
};

type FieldShape = readonly [id: number, type: string, rule?: 'repeated' | 'unpacked'];

function fields(shapes: Readonly<Record<string, FieldShape>>): protobuf.IType {
  const declared = Object.entries(shapes).map(([name, [id, type, rule]]) => {
    if (rule === undefined) return [name, { id, type }];
    return [name, { id, type, rule: 'repeated', ...(rule === 'unpacked' ? { options: { packed: false } } : {}) }];
  });
  return { fields: Object.fromEntries(declared) };
}

/** A new protobuf type of an ONNX file, to decode and (in tests) encode; takes a few milliseconds. */
export function onnxModelType(): protobuf.Type {
  const root = protobuf.Root.fromJSON({ nested: { onnx: { nested: onnxMessages } } });
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
