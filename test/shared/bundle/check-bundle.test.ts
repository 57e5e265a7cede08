import { expect } from 'chai';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { countTreeNodes } from '../../../shared/bundle/check-covers.js';
import { parseGolden } from '../../../shared/bundle/golden.js';
import { readOnnxModel } from '../../../shared/bundle/onnx-model.js';
import { OPSET_VERSIONS } from '../../../shared/bundle/onnx-operators.js';
import { readBundle } from '../../../shared/bundle/read-bundle.js';
import { projectFile } from '../../../shared/project-root.js';
import { InferenceSession } from '../../../worker/inference-session.js';
import { itRefuses, put, refusalOf } from '../../support/bundle-refusal.js';
import { requireReferenceBundles } from '../../support/golden-records.js';
import { packSample, type SampleParts, sampleBundle, sampleParts } from '../../support/sample-bundle.js';
import { encodeOnnx, ints, linearModel, type SampleModel } from '../../support/sample-onnx.js';

describe('checkBundle', () => {
  it('accepts every reference model', async function () {
    for (const directory of requireReferenceBundles(this)) await expectComplete(directory);
  });

  it("accepts the demo's bundle", () => expectComplete(projectFile('scripts/demo/bundle')));

  it('gives the members and a digest that depends on each of them', () => {
    const files = sampleBundle();
    const { manifest, onnx, golden, covers, digest } = checkBundle(files);
    expect(manifest.version).to.equal('1.0.0');
    expect(onnx).to.equal(files.get('model.onnx'));
    expect(golden).to.equal(files.get('golden.jsonl'));
    expect(covers).to.equal(undefined);
    expect(digest).to.match(/^[0-9a-f]{64}$/);
    expect(checkBundle(new Map([...files].reverse())).digest).to.equal(digest);

    const others = [
      sampleBundle({ version: '1.0.1' }),
      sampleBundle({ intercept: 0.125 }),
      sampleBundle().set('golden.jsonl', Buffer.from('{"record":{}}')),
    ];
    const withoutGolden = sampleBundle();
    withoutGolden.delete('golden.jsonl');
    for (const other of [...others, withoutGolden]) expect(checkBundle(other).digest).to.not.equal(digest);
  });

  it('leaves out files that are no members', () => {
    const files = sampleBundle().set('notes.txt', Buffer.from('x'));
    expect(checkBundle(files).digest).to.equal(checkBundle(sampleBundle()).digest);
  });

  for (const name of ['manifest.json', 'model.onnx', 'covers.f32']) {
    it(`refuses a bundle without ${name}`, () => {
      const files = sampleBundle({ model: 'tree' });
      files.delete(name);
      expect(refusalOf(() => checkBundle(files)).message).to.equal(`${name}: is missing from the bundle`);
    });
  }
});

describe('covers', () => {
  const from = { model: 'tree' } as const;
  const covers = (...values: number[]) => Buffer.from(new Float32Array(values).buffer);
  const member = 'covers.f32';
  const rows: readonly (readonly [title: string, bytes: Buffer, reason: string])[] = [
    ['one node short', covers(1, 1, 1, 1), 'holds 16 bytes, but 5 tree nodes need 20 (4 for each)'],
    ['a byte too long', Buffer.alloc(21), 'holds 21 bytes, but 5 tree nodes need 20 (4 for each)'],
    ['empty', Buffer.alloc(0), 'holds 0 bytes, but 5 tree nodes need 20 (4 for each)'],
    [
      'not a number',
      covers(1, Number.NaN, 1, 1, 1),
      'gives node 1 the cover NaN; a cover is finite and not negative',
    ],
    [
      'infinite',
      covers(1, 1, Infinity, 1, 1),
      'gives node 2 the cover Infinity; a cover is finite and not negative',
    ],
    ['negative', covers(1, 1, 1, 1, -2), 'gives node 4 the cover -2; a cover is finite and not negative'],
  ];
  for (const [title, bytes, reason] of rows) {
    itRefuses({
      title: `covers that are ${title}`,
      from,
      spoil: (parts) => put(parts, 'covers', bytes),
      member,
      reason,
    });
  }

  itRefuses({
    title: 'covers of a model without trees',
    spoil: (parts) => {
      put(parts.manifest, 'explain', { kind: 'tree', covers: member });
      parts.covers = covers(1);
    },
    member,
    reason: 'belongs to a tree model, but the ONNX graph has no tree',
  });

  it('count the leaves of ai.onnx.ml 5 after its nodes, and several ensembles', () => {
    const model: SampleModel = linearModel([1], 0);
    const ensemble = (opType: string, ...attribute: SampleModel['graph']['node'][number]['attribute']) =>
      model.graph.node.push({ opType, domain: 'ai.onnx.ml', input: ['input'], output: ['x'], attribute });
    ensemble('TreeEnsemble', ints('nodes_featureids', [0, 0]), ints('leaf_targetids', [0, 0, 0]));
    ensemble('TreeEnsembleRegressor', ints('nodes_nodeids', [0, 1, 2]));
    expect(countTreeNodes(readOnnxModel(encodeOnnx(model)).graph)).to.equal(8);
  });
});

describe('golden.jsonl', () => {
  const member = 'golden.jsonl';
  const rows: readonly (readonly [title: string, text: string, reason: RegExp])[] = [
    ['a line that is no JSON', '{"record":{}}\n{"record":', /^line 2 is not JSON/],
    ['a line that is a list', '[]', /^line 1 is not an object with a "record"$/],
    ['a line without record', '\n{"raw":0.5}', /^line 2 is not an object with a "record"$/],
    ['a record that is a list', '{"record":[]}', /^line 1 is not an object with a "record"$/],
    ['a raw that is text', '{"record":{},"raw":"0.5"}', /^line 1 has a "raw" that is no number$/],
    ['an x with text', '{"record":{},"x":[1,"2"]}', /^line 1 has an "x" that is not a list of numbers$/],
    [
      'contributions of text',
      '{"record":{},"contributions":{"a":"b"}}',
      /^line 1 has "contributions" that are not/,
    ],
    ['a now that is no time', '{"record":{},"now":"soon"}', /^line 1 has a "now" that is no time$/],
    ['no line', '\n\n', /^holds no record$/],
  ];
  for (const [title, text, reason] of rows) {
    const spoil = (parts: SampleParts) => put(parts, 'golden', Buffer.from(text));
    itRefuses({ title, spoil, member, reason });
  }
  itRefuses({
    title: 'bytes that are not UTF-8',
    spoil: (parts) => put(parts, 'golden', Buffer.from([0xff, 0xfe])),
    member,
    reason: 'is not UTF-8 text',
  });

  it('is read line by line, blank lines and Windows line ends passed over', () => {
    const records = parseGolden(
      Buffer.from('{"record":{"a":1},"x":[1,null]}\r\n\r\n{"record":{},"now":"2026-01-01"}'),
    );
    expect(records).to.deep.equal([
      { record: { a: 1 }, x: [1, null] },
      { record: {}, now: '2026-01-01' },
    ]);
  });
});

describe('the sample bundle', () => {
  it('runs in onnxruntime and gives what its golden records say', async () => {
    const { manifest, onnx, golden } = checkBundle(sampleBundle());
    const records = parseGolden(golden ?? Buffer.alloc(0));
    const session = await InferenceSession.load(onnx, { reference: manifest.onnx, width: manifest.width });
    const rows = new Float32Array(records.flatMap(({ x }) => x?.map((value) => value ?? Number.NaN) ?? []));
    const raw = await session.run(rows, records.length);
    await session.release();
    expect(records).to.have.length(3);
    for (const [index, record] of records.entries()) expect(raw[index]).to.be.closeTo(record.raw ?? 9, 1e-6);
  });

  it('of a tree runs in onnxruntime', async () => {
    const { manifest, onnx } = checkBundle(sampleBundle({ model: 'tree' }));
    const session = await InferenceSession.load(onnx, { reference: manifest.onnx, width: manifest.width });
    const raw = await session.run(
      new Float32Array([11, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 5, 1, 0, 0, 0, 0]),
      3,
    );
    await session.release();
    const sigmoid = (margin: number) => 1 / (1 + Math.exp(-margin));
    for (const [row, margin] of [1.5, -1, 0.5].entries())
      expect(raw[row]).to.be.closeTo(sigmoid(margin), 1e-6);
  });

  it('runs with the highest operator sets that are accepted', async () => {
    const parts = sampleParts();
    const highest = (domain: string) => OPSET_VERSIONS.get(domain)?.highest ?? 0;
    parts.model.irVersion = 13;
    parts.model.opsetImport = ['ai.onnx', 'ai.onnx.ml'].map((domain) => ({
      domain,
      version: highest(domain),
    }));
    const { manifest, onnx } = checkBundle(packSample(parts));
    const session = await InferenceSession.load(onnx, { reference: manifest.onnx, width: manifest.width });
    await session.release();
  });
});

async function expectComplete(path: string): Promise<void> {
  const { manifest, onnx, covers, golden, unknownKeys } = checkBundle(await readBundle(path));
  expect(unknownKeys, path).to.deep.equal([]);
  expect(parseGolden(golden ?? Buffer.alloc(0)).length, path).to.be.at.least(50);
  const nodes = countTreeNodes(readOnnxModel(onnx).graph);
  expect(covers?.length ?? 0, path).to.equal(manifest.explain?.kind === 'tree' ? nodes * 4 : 0);
}
