import { expect } from 'chai';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { itRefuses, put, refusalOf } from '../../support/models/bundle-refusal.js';
import { packSample, sampleBundle, sampleParts } from '../../support/models/sample-bundle.js';
import {
  floatTensor,
  type SampleModel,
  type SampleNode,
  type SampleTensor,
  strings,
  tensorValue,
} from '../../support/models/sample-onnx.js';

type Row = readonly [title: string, spoil: (model: SampleModel) => void, reason: RegExp | string];

const float = 1;
const string = 8;
const double = 11;

const node = (opType: string, domain?: string): SampleNode => ({
  opType,
  input: ['label'],
  output: [`${opType}_out`],
  attribute: [],
  ...(domain === undefined ? {} : { domain }),
});
const elsewhere = (name: string): SampleTensor => ({
  name,
  dims: [1],
  dataType: float,
  dataLocation: 1,
  externalData: [{ key: 'location', value: '/etc/passwd' }],
});
const texts = (name: string): SampleTensor => ({
  name,
  dims: [1],
  dataType: string,
  stringData: [Buffer.from('a')],
});
/** An unused constant with one attribute. */
const constant = (attribute: SampleNode['attribute'][number]): SampleNode => ({
  ...node('Constant'),
  input: [],
  attribute: [attribute],
});
const emptyGraph = () => ({ name: 'inner', node: [], input: [], output: [], initializer: [] });
const addNode = (added: SampleNode) => (model: SampleModel) => void model.graph.node.push(added);
const setInput = (elemType: number, shape: (number | undefined)[]) => (model: SampleModel) => {
  model.graph.input = [tensorValue('input', elemType, shape)];
};
const setOutput = (elemType: number, shape: (number | undefined)[]) => (model: SampleModel) => {
  model.graph.output = [tensorValue('probabilities', elemType, shape)];
};

const refused = (
  operator: string,
  domain = 'ai.onnx',
  remedy = 'convert the model without it (docs/models.md lists the operators)',
) => `operator "${operator}" of domain "${domain}" is not allowed: ${remedy}`;
const withoutFlow = 'convert the model without control flow and sequences';
const ofOnnxRuntime = 'save the model as it was before ONNX Runtime optimised it';

const rows: readonly Row[] = [
  ['a Loop operator', addNode(node('Loop')), refused('Loop', 'ai.onnx', withoutFlow)],
  ['an If operator', addNode(node('If')), refused('If', 'ai.onnx', withoutFlow)],
  ['a Scan operator', addNode(node('Scan')), refused('Scan', 'ai.onnx', withoutFlow)],
  [
    'a Loop operator in the standard domain by its name',
    addNode(node('Loop', 'ai.onnx')),
    refused('Loop', 'ai.onnx', withoutFlow),
  ],
  [
    'a random number operator',
    addNode(node('RandomNormal')),
    refused('RandomNormal', 'ai.onnx', 'a score must not depend on chance, so export the model for inference'),
  ],
  [
    'a string operator',
    addNode(node('StringNormalizer')),
    refused('StringNormalizer', 'ai.onnx', 'let features encode the texts, and give the model numbers'),
  ],
  ...['QuantizeLinear', 'DynamicQuantizeLinear', 'QLinearMatMul', 'MatMulInteger', 'DequantizeLinear'].map(
    (operator): Row => [
      `the operator ${operator} of quantised models`,
      addNode(node(operator)),
      refused(operator, 'ai.onnx', 'do not quantise the model'),
    ],
  ),
  ['an operator that does not exist', addNode(node('constructor')), refused('constructor')],
  [
    'a ZipMap operator',
    addNode(node('ZipMap', 'ai.onnx.ml')),
    /^operator "ZipMap" of domain "ai.onnx.ml" is not allowed: .*zipmap=False$/,
  ],
  ['an operator in the wrong domain', addNode(node('Gemm', 'ai.onnx.ml')), refused('Gemm', 'ai.onnx.ml')],
  [
    'an operator of onnxruntime',
    addNode(node('Gelu', 'com.microsoft')),
    refused('Gelu', 'com.microsoft', ofOnnxRuntime),
  ],
  ['an operator of a custom domain', addNode(node('Add', 'com.acme')), refused('Add', 'com.acme')],
  [
    'a subgraph in an allowed operator',
    addNode({ ...node('Identity'), attribute: [{ name: 'body', type: 5, g: emptyGraph() }] }),
    'operator "Identity" of domain "ai.onnx" has a subgraph, which is not allowed',
  ],
  [
    'several subgraphs in an allowed operator',
    addNode({ ...node('Identity'), attribute: [{ name: 'bodies', type: 10, graphs: [emptyGraph()] }] }),
    /has a subgraph/,
  ],
  [
    'a LabelEncoder of strings',
    addNode({ ...node('LabelEncoder', 'ai.onnx.ml'), attribute: [strings('keys_strings', ['a'])] }),
    'operator "LabelEncoder" of domain "ai.onnx.ml" processes strings ("keys_strings"), which is not allowed',
  ],
  [
    'a cast to strings',
    addNode({ ...node('Cast'), attribute: [{ name: 'to', type: 2, i: string }] }),
    'operator "Cast" of domain "ai.onnx" casts to strings, which is not allowed',
  ],
  [
    'a function',
    (model) => put(model, 'functions', [{ name: 'f', domain: 'com.acme' }]),
    'defines the function "f", but functions within a model are not allowed',
  ],
  [
    'training information',
    (model) => put(model, 'trainingInfo', [{}]),
    'holds training information, which is not allowed: export the model for inference',
  ],
  [
    'an initializer of strings',
    (model) => model.graph.initializer.push(texts('words')),
    'initializer "words" is a tensor of strings, which is not allowed',
  ],
  [
    'an attribute of strings',
    addNode(constant({ name: 'value', type: 4, t: texts('') })),
    'attribute "value" of Constant is a tensor of strings, which is not allowed',
  ],
  [
    'an initializer in another file',
    (model) => model.graph.initializer.push(elsewhere('W')),
    'initializer "W" keeps its data in another file ("/etc/passwd"): save the model with its data inside',
  ],
  [
    'an initializer marked as external without a file',
    (model) => model.graph.initializer.push({ ...floatTensor('W'), dataLocation: 1 }),
    'initializer "W" keeps its data in another file (""): save the model with its data inside',
  ],
  [
    'sparse values in another file',
    (model) => put(model.graph, 'sparseInitializer', [{ values: elsewhere('S'), indices: floatTensor('I') }]),
    'sparse initializer "S" keeps its data in another file ("/etc/passwd"): save the model with its data inside',
  ],
  [
    'sparse indices in another file',
    (model) => put(model.graph, 'sparseInitializer', [{ values: floatTensor('S'), indices: elsewhere('I') }]),
    'the indices of sparse initializer keeps its data in another file ("/etc/passwd"): save the model with its data inside',
  ],
  [
    'an attribute in another file',
    addNode(constant({ name: 'value', type: 4, t: elsewhere('') })),
    'attribute "value" of Constant keeps its data in another file ("/etc/passwd"): save the model with its data inside',
  ],
  [
    'one of several tensors of an attribute in another file',
    addNode(constant({ name: 'values', type: 9, tensors: [floatTensor('a'), elsewhere('b')] })),
    /^attribute "values" of Constant keeps its data in another file/,
  ],
  [
    'a sparse attribute in another file',
    addNode(constant({ name: 'sparse_value', type: 11, sparseTensor: { values: elsewhere('v') } })),
    /^attribute "sparse_value" of Constant "v" keeps its data in another file/,
  ],
  [
    'an unknown version of ai.onnx',
    (model) => put(model, 'opsetImport.1.version', 27),
    'uses version 27 of the operator set "ai.onnx", outside 7..26: convert the model for version 21',
  ],
  [
    'an unknown version of ai.onnx.ml',
    (model) => put(model, 'opsetImport.0.version', 6),
    'uses version 6 of the operator set "ai.onnx.ml", outside 1..5: convert the model for version 3',
  ],
  [
    'a version of ai.onnx that onnxruntime does not run',
    (model) => {
      put(model, 'opsetImport.1.version', 6);
      model.graph.node.push(node('Identity'));
    },
    'uses version 6 of the operator set "ai.onnx", outside 7..26: convert the model for version 21',
  ],
  [
    'an operator set that is not imported',
    (model) => void model.opsetImport.shift(),
    'uses operators of "ai.onnx.ml" without importing a version of that operator set',
  ],
  ...[14, 0].map(
    (version): Row => [
      `the IR version ${version}`,
      (model) => put(model, 'irVersion', version),
      `has the IR version ${version}, outside 3..13: set \`ir_version = 10\` on the model, and save it again`,
    ],
  ),
  ['an input of another name', (model) => put(model, 'graph.input.0.name', 'x'), 'has no input "input" (it has "x")'],
  [
    'a second input',
    (model) => model.graph.input.push(tensorValue('more', float, [undefined, 2])),
    'needs a second input "more", but a model may take only one tensor [N, 6]',
  ],
  [
    'an input of doubles',
    setInput(double, [undefined, 6]),
    'input "input" is float64, not float32: convert the model for float32 tensors',
  ],
  [
    'an input of strings',
    setInput(string, [undefined, 6]),
    'input "input" is string, not float32: convert the model for float32 tensors',
  ],
  [
    'an input that is too wide',
    setInput(float, [undefined, 7]),
    'input "input" is 7 columns wide, but width in the manifest is 6',
  ],
  [
    'a fixed batch size of one',
    setInput(float, [1, 6]),
    'input "input" takes exactly 1 rows: leave its first dimension open',
  ],
  ['an input of rank 1', setInput(float, [6]), 'input "input" has 1 dimensions, not 2'],
  ['an input of rank 3', setInput(float, [undefined, 6, 1]), 'input "input" has 3 dimensions, not 2'],
  [
    'an input that is a sequence',
    (model) => put(model, 'graph.input.0.type', { sequenceType: {} }),
    'input "input" is not a tensor',
  ],
  [
    'an output of another name',
    (model) => put(model, 'graph.output.1.name', 'scores'),
    'has no output "probabilities" (it has "label", "scores")',
  ],
  [
    'an output of integers',
    setOutput(7, [undefined, 2]),
    'output "probabilities" is int64, not float32: convert the model for float32 tensors',
  ],
  [
    'an output of doubles',
    setOutput(double, [undefined, 2]),
    'output "probabilities" is float64, not float32: convert the model for float32 tensors',
  ],
  ['an output of rank 0', setOutput(float, []), 'output "probabilities" has 0 dimensions, not 1 or 2'],
  ['an output of rank 3', setOutput(float, [undefined, 2, 1]), 'output "probabilities" has 3 dimensions, not 1 or 2'],
  [
    'an output that is a map',
    (model) => put(model, 'graph.output.1.type', { sequenceType: {} }),
    'output "probabilities" is not a tensor: convert the model with the option zipmap=False',
  ],
];

describe('checkOnnx', () => {
  for (const [title, spoil, reason] of rows) {
    itRefuses({
      title: `a model with ${title}`,
      spoil: ({ model }) => spoil(model),
      member: 'model.onnx',
      reason,
    });
  }

  itRefuses({
    title: 'a positive class beyond the columns of the output',
    spoil: ({ manifest }) => put(manifest, 'onnx.positive_class', 2),
    member: 'model.onnx',
    reason: 'output "probabilities" has 2 classes, but the manifest\'s positive_class is 2',
  });
  itRefuses({
    title: 'a positive class beyond the labels of a classifier with an output of open width',
    spoil: ({ manifest, model }) => {
      setOutput(float, [undefined, undefined])(model);
      put(manifest, 'onnx.positive_class', 2);
    },
    member: 'model.onnx',
    reason: /^output "probabilities" has 2 classes/,
  });
  itRefuses({
    title: 'a positive class of 2 with one output column',
    spoil: ({ manifest, model }) => {
      setOutput(float, [undefined, 1])(model);
      put(manifest, 'onnx.positive_class', 2);
    },
    member: 'model.onnx',
    reason: /^output "probabilities" has 2 classes/,
  });
  itRefuses({
    title: 'a manifest with the SHA-256 of another file',
    spoil: ({ manifest }) => put(manifest, 'onnx.sha256', '0'.repeat(64)),
    member: 'model.onnx',
    reason: /^has the SHA-256 [0-9a-f]{64}, but onnx.sha256 is 0{64}: export the bundle again$/,
  });

  it('names external data in a subgraph of a subgraph as well as the operator', () => {
    const inner = { ...emptyGraph(), initializer: [elsewhere('deep')] };
    const outer = {
      ...emptyGraph(),
      node: [{ ...node('If'), attribute: [{ name: 'then', type: 5, g: inner }] }],
    };
    const parts = sampleParts();
    parts.model.graph.node.push({ ...node('Loop'), attribute: [{ name: 'body', type: 5, g: outer }] });
    const { problems } = refusalOf(() => checkBundle(packSample(parts)));
    expect(problems).to.deep.equal([
      refused('Loop', 'ai.onnx', withoutFlow),
      'initializer "deep" keeps its data in another file ("/etc/passwd"): save the model with its data inside',
    ]);
  });

  it('refuses a file above the size limit before any other check', () => {
    const files = sampleBundle();
    const { reason } = refusalOf(() => checkBundle(files, { onnxLimitBytes: 100 }));
    expect(reason).to.match(/^is \d+ bytes, above the limit of 100 bytes for a model$/);
    const big = files.set('model.onnx', Buffer.alloc(64 * 1024 * 1024 + 1));
    expect(refusalOf(() => checkBundle(big)).reason).to.match(/^is 64 MiB, above the limit of 64 MiB/);
  });
});
