import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import { compileExplanation } from '../../../worker/drivers/explainer.js';
import { compileFeatureRow } from '../../../worker/feature-row/feature-row.js';
import { InferenceSession } from '../../../worker/models/inference-session.js';
import {
  demoBundleDirectory,
  type GoldenBundle,
  readGoldenBundle,
  referenceBundleDirectories,
  requestTimeMs,
  requireReferenceBundles,
} from '../../support/models/golden-records.js';

/** Largest accepted difference to the shap package. */
const tolerance = 1e-4;

describe('contributions of golden records', () => {
  it('finds at least three reference bundles', function () {
    expect(requireReferenceBundles(this)).to.have.length.of.at.least(3);
  });

  for (const directory of [demoBundleDirectory(), ...referenceBundleDirectories()]) {
    const bundle = readGoldenBundle(directory);
    it(`reproduces the contributions of the shap package: ${bundle.name}`, async () => {
      const { manifest, records } = bundle;
      const { explanation, contributions } = await explained(bundle);
      expect(explanation.fallbackReason).to.equal(undefined);
      expect(explanation.explainer.method).to.equal(manifest.explain?.kind);
      const { fields } = explanation.fields;
      const names = fields.map(({ field }) => field);
      for (const [row, golden] of records.entries()) {
        expect(explanation.base).to.be.closeTo(golden.base, tolerance);
        for (const name of Object.keys(golden.contributions)) expect(names, name).to.include(name);
        for (const [index, { field }] of fields.entries()) {
          const expected = golden.contributions[field] ?? 0;
          const found = contributions[row * fields.length + index];
          expect(found, `record ${row}, ${field}`).to.be.closeTo(expected, tolerance);
        }
      }
    });
  }
});

async function explained({ directory, manifest, records }: GoldenBundle) {
  const knownFields = compileKnownFields(manifest);
  const featureRow = compileFeatureRow(manifest, knownFields);
  const onnx = readFileSync(join(directory, manifest.onnx.file));
  const session = await InferenceSession.load(onnx, { reference: manifest.onnx, width: manifest.width });
  const covers = join(directory, 'covers.f32');
  const explanation = await compileExplanation(
    { manifest, knownFields, featureRow, session },
    { onnx, ...(existsSync(covers) ? { covers: readFileSync(covers) } : {}) },
  );
  await session.release();
  const rows = new Float32Array(records.length * manifest.width);
  for (const [index, golden] of records.entries()) {
    const cells = knownFields.pack(golden.record);
    const nowMs = requestTimeMs(golden, manifest);
    expect(featureRow.write({ cells, nowMs, out: rows, offset: index * manifest.width })).to.equal(undefined);
  }
  const contributions = await explanation.explainer.contributions({ rows, count: records.length });
  return { explanation, contributions };
}
