import { expect } from 'chai';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { InferenceSession } from '../../../worker/models/inference-session.js';
import { packSample, sampleParts } from '../../support/models/sample-bundle.js';
import { linearModel } from '../../support/models/sample-onnx.js';

const width = 6; // of the sample bundle

/** The raw probabilities of a model that adds up to `sum`, without a sigmoid, for a row of ones and one of NaN. */
async function rawOf(sum: number): Promise<Float64Array> {
  const parts = sampleParts();
  const model = linearModel(new Array<number>(width).fill(0), sum);
  for (const attribute of model.graph.node[0]?.attribute ?? [])
    if (attribute.name === 'post_transform') attribute.s = 'NONE';
  const { manifest, onnx } = checkBundle(packSample({ ...parts, model, golden: undefined }));
  const session = await InferenceSession.load(onnx, { reference: manifest.onnx, width });
  const rows = new Float32Array(2 * width).fill(1, 0, width).fill(Number.NaN, width);
  const raw = await session.run(rows, 2);
  await session.release();
  return raw;
}

describe('a raw probability', () => {
  for (const [sum, probability] of [
    [1.0000003, 1],
    [-1e-7, 0],
    [0.25, 0.25],
  ] as const)
    it(`is ${probability} when a model adds up to ${sum} in float32, and NaN stays NaN`, async () => {
      expect([...(await rawOf(sum))]).to.deep.equal([probability, Number.NaN]);
    });
});
