import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { silenceOnnxRuntime } from '../../../shared/config/config.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import { compileFeatureRow } from '../../../worker/feature-row/feature-row.js';
import { compileLikelihood } from '../../../worker/models/likelihood.js';
import { compilePercentileScore } from '../../../worker/models/percentile-score.js';
import {
  demoBundleDirectory,
  type GoldenBundle,
  readGoldenBundle,
  referenceBundleDirectories,
  requestTimeMs,
  requireReferenceBundles,
} from '../../support/models/golden-records.js';

describe('golden records', () => {
  it('come with the demo bundle', () => {
    expect(existsSync(join(demoBundleDirectory(), 'golden.jsonl'))).to.equal(true);
  });

  it('come with the reference models', function () {
    expect(requireReferenceBundles(this)).to.have.length.of.at.least(3);
  });

  const demo = existsSync(join(demoBundleDirectory(), 'golden.jsonl')) ? [demoBundleDirectory()] : [];
  for (const directory of [...demo, ...referenceBundleDirectories()]) {
    const bundle = readGoldenBundle(directory);
    describe(bundle.name, () => provesGolden(bundle));
  }
});

function provesGolden(bundle: GoldenBundle): void {
  const { manifest, records } = bundle;

  it('has records, untidy ones among them', () => {
    expect(records).to.have.length.of.at.least(50);
    expect(records.some((golden) => golden.dirty)).to.equal(true);
  });

  it('gives every input row bit for bit as float32 after a round trip through JSON', () => {
    const rows = inputRows(bundle);
    for (const [index, golden] of records.entries()) {
      const row = rows.subarray(index * manifest.width, (index + 1) * manifest.width);
      const expected = golden.x.map((value) => (value === null ? Number.NaN : Math.fround(value)));
      expect(Array.from(row), `record ${index} (${golden.mutations})`).to.deep.equal(expected);
    }
  });

  it('gives every score and likelihood for the golden raw', () => {
    expectAnswers(
      bundle,
      records.map((golden) => golden.raw),
    );
  });

  it('gives every raw, score and likelihood with ONNX', async () => {
    const raws = await inferRaws(bundle);
    for (const [index, golden] of records.entries()) expect(raws[index]).to.be.closeTo(golden.raw, 1e-6);
    expectAnswers(bundle, raws);
  });
}

function expectAnswers({ manifest, records }: GoldenBundle, raws: readonly number[]): void {
  const scoreOf = compilePercentileScore(manifest.quantiles);
  const likelihoodOf = compileLikelihood(manifest);
  const answers = raws.map((raw) => ({ score: scoreOf(raw), likelihood: likelihoodOf(raw) / 10_000 }));
  const expected = records.map((golden) => ({
    score: golden.score,
    likelihood: golden.conversion_likelihood,
  }));
  expect(answers).to.deep.equal(expected);
}

function inputRows({ manifest, records }: GoldenBundle): Float32Array {
  const fields = compileKnownFields(manifest);
  const featureRow = compileFeatureRow(manifest, fields);
  const out = new Float32Array(records.length * manifest.width);
  for (const [index, golden] of records.entries()) {
    const cells = JSON.parse(JSON.stringify(fields.pack(golden.record)));
    const request = { cells, nowMs: requestTimeMs(golden, manifest), out, offset: index * manifest.width };
    expect(featureRow.write(request), `record ${index}`).to.equal(undefined);
  }
  return out;
}

async function inferRaws(bundle: GoldenBundle): Promise<number[]> {
  const { input, output, file, kind, positive_class: positiveClass } = bundle.manifest.onnx;
  const graph = readFileSync(join(bundle.directory, file));
  silenceOnnxRuntime();
  const session = await InferenceSession.create(graph, { intraOpNumThreads: 1, interOpNumThreads: 1 });
  const rows = bundle.records.length;
  const tensor = new Tensor('float32', inputRows(bundle), [rows, bundle.manifest.width]);
  const answer = (await session.run({ [input]: tensor }, [output]))[output];
  await session.release();
  const values = Array.from(answer?.data as Float32Array);
  const classes = values.length / rows;
  const probability = (value: number) => (kind === 'logit' ? 1 / (1 + Math.exp(-value)) : value);
  const column = classes === 1 ? 0 : positiveClass;
  return Array.from({ length: rows }, (_, row) => probability(values[row * classes + column] ?? Number.NaN));
}
