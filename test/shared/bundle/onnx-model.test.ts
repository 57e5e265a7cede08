import { expect } from 'chai';
import fc from 'fast-check';
import { BundleError } from '../../../shared/bundle/bundle-error.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { countTreeNodes } from '../../../shared/bundle/onnx/check-covers.js';
import { readOnnxModel } from '../../../shared/bundle/onnx/onnx-model.js';
import { put, refusalOf } from '../../support/models/bundle-refusal.js';
import { packSample, type SampleParts, sampleParts } from '../../support/models/sample-bundle.js';
import { encodeOnnx, floatTensor, linearModel, tensorValue, treeModel } from '../../support/models/sample-onnx.js';

const float = 1;
const string = 8;
const probabilities = (...shape: (number | undefined)[]) => tensorValue('probabilities', float, shape);

describe('readOnnxModel', () => {
  const cases: readonly (readonly [title: string, bytes: Buffer, reason: RegExp])[] = [
    ['an empty file', Buffer.alloc(0), /it holds no graph$/],
    ['a text file', Buffer.from('this is not a model'), /^cannot be read as an ONNX model/],
    [
      'a truncated file',
      encodeOnnx(linearModel([1, 2], 0)).subarray(0, -5),
      /^cannot be read as an ONNX model: index out of/,
    ],
    ['a file with 5,000 nested graphs', nested(5000), /^cannot be read as an ONNX model: max depth exceeded$/],
    ['a file with a million empty nodes', emptyNodes(1_000_000), /has more parts than any scoring model needs$/],
  ];
  for (const [title, bytes, reason] of cases) {
    it(`refuses ${title}`, () => {
      const error = refusalOf(() => readOnnxModel(bytes, 'm.onnx'));
      expect(error.member).to.equal('m.onnx');
      expect(error.reason).to.match(reason);
    });
  }

  it('throws nothing but BundleError, whichever bytes of a model change', () => {
    const good = encodeOnnx(linearModel([1, 2, 3], 0));
    const change = fc.record({ at: fc.nat(good.length - 1), byte: fc.nat(255) });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 8 }), (changes) => {
        const bytes = Buffer.from(good);
        for (const { at, byte } of changes) bytes[at] = byte;
        try {
          readOnnxModel(bytes);
        } catch (error) {
          expect(error).to.be.instanceOf(BundleError);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('an unusual but valid ONNX file', () => {
  it('readOnnxModel reads 300,000 tree nodes, as a forest of 400 full trees has', () => {
    const nodes = 300_000;
    const model = treeModel(2);
    const [ensemble] = model.graph.node;
    for (const attribute of ensemble?.attribute ?? []) {
      if (!attribute.name.startsWith('nodes_')) continue;
      if (attribute.strings !== undefined) attribute.strings = new Array<string>(nodes).fill('BRANCH_LEQ');
      if (attribute.ints !== undefined) attribute.ints = new Array<number>(nodes).fill(1);
      if (attribute.floats !== undefined) attribute.floats = new Array<number>(nodes).fill(0.5);
    }
    expect(countTreeNodes(readOnnxModel(encodeOnnx(model)).graph)).to.equal(nodes);
  });

  const accepted: readonly (readonly [title: string, change: (parts: SampleParts) => void])[] = [
    ['without a shape for its input', ({ model }) => put(model, 'graph.input.0.type.tensorType.shape', undefined)],
    [
      'with -1 for the open size',
      ({ model }) => put(model, 'graph.input.0.type.tensorType.shape.dim.0', { dimValue: -1 }),
    ],
    [
      'with an unused operator set of another domain',
      ({ model }) => model.opsetImport.push({ domain: 'com.acme', version: 1 }),
    ],
    ['with an old, unused operator set', ({ model }) => put(model, 'opsetImport.1.version', 1)],
    ['without the standard operator set', ({ model }) => void model.opsetImport.pop()],
    [
      'with initializers listed as inputs',
      ({ model }) => {
        model.graph.initializer.push(floatTensor('W'));
        model.graph.input.push(tensorValue('W', float, [1]));
      },
    ],
    ['with string labels', ({ model }) => put(model, 'graph.output.0', tensorValue('label', string, [undefined]))],
    ['with one output column', ({ model }) => put(model, 'graph.output.1', probabilities(undefined, 1))],
    ['with one output value for each row', ({ model }) => put(model, 'graph.output.1', probabilities(undefined))],
  ];
  for (const [title, change] of accepted) {
    it(`checkBundle accepts a model ${title}`, () => {
      const parts = sampleParts();
      change(parts);
      expect(checkBundle(packSample(parts)).onnx.length).to.be.above(0);
    });
  }

  it('readOnnxModel gives attributes as plain numbers and strings', () => {
    const { graph, irVersion } = readOnnxModel(encodeOnnx(linearModel([0.5, -2], 0.25)));
    const attributes = new Map(graph.node[0]?.attribute.map((attribute) => [attribute.name, attribute]));
    expect(irVersion).to.equal(8);
    expect(attributes.get('coefficients')?.floats).to.deep.equal([-0.5, 2, 0.5, -2]);
    expect(attributes.get('classlabels_ints')?.ints).to.deep.equal([0, 1]);
    expect(attributes.get('post_transform')?.s).to.equal('LOGISTIC');
    expect(attributes.get('post_transform')?.i).to.equal(0);
    expect(attributes.get('post_transform')?.t).to.equal(null);
  });
});

/** A protobuf field of the wire type "length-delimited". */
function field(number: number, content: Uint8Array): Buffer {
  const length: number[] = [];
  let rest = content.length;
  for (; rest > 127; rest = Math.floor(rest / 128)) length.push((rest % 128) + 128);
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length, rest]), content]);
}

/** A model whose graph has a node with an attribute with a graph, to this depth. */
function nested(depth: number): Buffer {
  let graph: Buffer = Buffer.alloc(0);
  for (let level = 0; level < depth; level += 1) graph = field(1, field(5, field(6, graph)));
  return field(7, graph);
}

/** A model whose graph has only nodes of two bytes each. */
function emptyNodes(count: number): Buffer {
  const graph = Buffer.alloc(2 * count);
  for (let index = 0; index < count; index += 1) graph[2 * index] = 0x0a;
  return field(7, graph);
}
