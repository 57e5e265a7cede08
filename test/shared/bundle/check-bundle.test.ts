import { expect } from 'chai';
import { readBundle } from '../../../shared/bundle/archive/read-bundle.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { parseGolden } from '../../../shared/bundle/golden.js';
import { opsetVersions } from '../../../shared/bundle/limits.js';
import { countTreeNodes } from '../../../shared/bundle/onnx/check-covers.js';
import { readOnnxModel } from '../../../shared/bundle/onnx/onnx-model.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { InferenceSession } from '../../../worker/models/inference-session.js';
import { itRefuses, put, refusalOf } from '../../support/models/bundle-refusal.js';
import { requireReferenceBundles } from '../../support/models/golden-records.js';
import { packSample, type SampleParts, sampleBundle, sampleParts } from '../../support/models/sample-bundle.js';
import { encodeOnnx, ints, linearModel, type SampleModel } from '../../support/models/sample-onnx.js';

describe('checkBundle', () => {
  it('accepts every reference bundle', async function () {
    for (const directory of requireReferenceBundles(this)) await expectComplete(directory);
  });

  it('accepts the bundle of the demo', () => expectComplete(projectFile('scripts/demo/bundle')));

  it('returns the members, and a digest that depends on each of them', () => {
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

  it('ignores files that are not members in the digest', () => {
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

describe('checkCovers', () => {
  const from = { model: 'tree' } as const;
  const covers = (...values: number[]) => Buffer.from(new Float32Array(values).buffer);
  const member = 'covers.f32';
  const rows: readonly (readonly [title: string, bytes: Buffer, reason: string])[] = [
    ['one node too short', covers(1, 1, 1, 1), 'holds 16 bytes, but 5 tree nodes need 20 (one float32 each)'],
    ['one byte too long', Buffer.alloc(21), 'holds 21 bytes, but 5 tree nodes need 20 (one float32 each)'],
    ['empty', Buffer.alloc(0), 'holds 0 bytes, but 5 tree nodes need 20 (one float32 each)'],
    [
      'not a number',
      covers(1, Number.NaN, 1, 1, 1),
      'has the cover NaN for node 1: covers must be finite and not negative',
    ],
    [
      'infinite',
      covers(1, 1, Infinity, 1, 1),
      'has the cover Infinity for node 2: covers must be finite and not negative',
    ],
    ['negative', covers(1, 1, 1, 1, -2), 'has the cover -2 for node 4: covers must be finite and not negative'],
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
    reason: 'belongs to a tree model, but the ONNX graph has no tree: set explain.kind to "linear" or "baseline"',
  });

  it('countTreeNodes counts the leaves of ai.onnx.ml 5, and all ensembles of a graph', () => {
    const model: SampleModel = linearModel([1], 0);
    const ensemble = (opType: string, ...attribute: SampleModel['graph']['node'][number]['attribute']) =>
      model.graph.node.push({ opType, domain: 'ai.onnx.ml', input: ['input'], output: ['x'], attribute });
    ensemble('TreeEnsemble', ints('nodes_featureids', [0, 0]), ints('leaf_targetids', [0, 0, 0]));
    ensemble('TreeEnsembleRegressor', ints('nodes_nodeids', [0, 1, 2]));
    expect(countTreeNodes(readOnnxModel(encodeOnnx(model)).graph)).to.equal(8);
  });
});

describe('parseGolden', () => {
  const member = 'golden.jsonl';
  const rows: readonly (readonly [title: string, text: string, reason: RegExp])[] = [
    ['golden records with a line that is not JSON', '{"record":{}}\n{"record":', /^line 2 is not JSON/],
    ['golden records with a line that is a list', '[]', /^line 1 is not a JSON object with a "record" object$/],
    [
      'golden records with a line without a record',
      '\n{"raw":0.5}',
      /^line 2 is not a JSON object with a "record" object$/,
    ],
    [
      'golden records with a record that is a list',
      '{"record":[]}',
      /^line 1 is not a JSON object with a "record" object$/,
    ],
    [
      'golden records with a raw that is a string',
      '{"record":{},"raw":"0.5"}',
      /^line 1 has a "raw" that is not a number$/,
    ],
    [
      'golden records with an x that holds a string',
      '{"record":{},"x":[1,"2"]}',
      /^line 1 has an "x" that is not a list of numbers and nulls$/,
    ],
    [
      'golden records with contributions that are strings',
      '{"record":{},"contributions":{"a":"b"}}',
      /^line 1 has "contributions" that are not an object of numbers$/,
    ],
    [
      'golden records with a now that is not a time',
      '{"record":{},"now":"soon"}',
      /^line 1 has a "now" that is neither ISO 8601 nor Unix milliseconds$/,
    ],
    ['golden records without a line', '\n\n', /^holds no record: add one, or remove the file$/],
  ];
  for (const [title, text, reason] of rows) {
    const spoil = (parts: SampleParts) => put(parts, 'golden', Buffer.from(text));
    itRefuses({ title, spoil, member, reason });
  }
  itRefuses({
    title: 'golden records that are not UTF-8',
    spoil: (parts) => put(parts, 'golden', Buffer.from([0xff, 0xfe])),
    member,
    reason: 'is not UTF-8 text: save the file as UTF-8',
  });

  it('skips blank lines and accepts Windows line ends', () => {
    const records = parseGolden(Buffer.from('{"record":{"a":1},"x":[1,null]}\r\n\r\n{"record":{},"now":"2026-01-01"}'));
    expect(records).to.deep.equal([
      { record: { a: 1 }, x: [1, null] },
      { record: {}, now: '2026-01-01' },
    ]);
  });
});

describe('the sample bundle', () => {
  it('runs in onnxruntime and gives the raw values of its golden records', async () => {
    const { manifest, onnx, golden } = checkBundle(sampleBundle());
    const records = parseGolden(golden ?? Buffer.alloc(0));
    const session = await InferenceSession.load(onnx, { reference: manifest.onnx, width: manifest.width });
    const rows = new Float32Array(records.flatMap(({ x }) => x?.map((value) => value ?? Number.NaN) ?? []));
    const raw = await session.run(rows, records.length);
    await session.release();
    expect(records).to.have.length(3);
    for (const [index, record] of records.entries()) expect(raw[index]).to.be.closeTo(record.raw ?? 9, 1e-6);
  });

  it('runs in onnxruntime when its model is a tree', async () => {
    const { manifest, onnx } = checkBundle(sampleBundle({ model: 'tree' }));
    const session = await InferenceSession.load(onnx, { reference: manifest.onnx, width: manifest.width });
    const raw = await session.run(new Float32Array([11, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 5, 1, 0, 0, 0, 0]), 3);
    await session.release();
    const sigmoid = (margin: number) => 1 / (1 + Math.exp(-margin));
    for (const [row, margin] of [1.5, -1, 0.5].entries()) expect(raw[row]).to.be.closeTo(sigmoid(margin), 1e-6);
  });

  it('runs in onnxruntime with the highest accepted operator set versions', async () => {
    const parts = sampleParts();
    const highest = (domain: string) => opsetVersions.get(domain)?.max ?? 0;
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
