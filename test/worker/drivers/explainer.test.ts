import { expect } from 'chai';
import type { Explain } from '../../../shared/bundle/manifest/manifest.js';
import type { InferenceSession } from '../../../worker/models/inference-session.js';
import { floats, type SampleModel, text } from '../../support/models/sample-onnx.js';
import { compiled, numbersManifest } from './compiled.js';
import { graphModel, learned, plain, regressor } from './explained-model.js';
import type { TestNode } from './test-trees.js';

/** x0 <= 0 ? (x1 <= 0 ? 2 : 1) : -1, trained on 100 rows. */
const tree: TestNode = {
  mode: 'BRANCH_LEQ',
  column: 0,
  threshold: 0,
  missingIsYes: false,
  cover: 100,
  yes: {
    mode: 'BRANCH_LEQ',
    column: 1,
    threshold: 0,
    missingIsYes: false,
    cover: 40,
    yes: { value: 2, cover: 10 },
    no: { value: 1, cover: 30 },
  },
  no: { value: -1, cover: 60 },
};
const ofTrees = { kind: 'tree', covers: 'covers.f32' } as const;
const logit = (explain?: Explain) => numbersManifest(2, { kind: 'logit', explain });

function withHitRates(rates: readonly number[]): SampleModel {
  const { model } = regressor([tree], 2);
  model.graph.node[0]?.attribute.push(floats('nodes_hitrates', [...rates]));
  return model;
}

const network = graphModel(
  [
    plain('MatMul', ['input', 'w'], 'hidden'),
    plain('Relu', ['hidden'], 'positive'),
    plain('MatMul', ['positive', 'v'], 'output'),
  ],
  {
    width: 2,
    initializer: [
      { name: 'w', dims: [2, 2], dataType: 1, floatData: [1, -1, 0.5, 2] },
      { name: 'v', dims: [2, 1], dataType: 1, floatData: [1, -2] },
    ],
  },
);

describe('compileExplanation', () => {
  it('explains trees with the covers of the bundle and ignores the hit rates of the file', async () => {
    const { explanation, explain } = await compiled(withHitRates([1, 1, 1, 1, 1]), logit(ofTrees), {
      covers: [100, 40, 10, 30, 60],
    });
    expect(explanation.explainer.method).to.equal('tree');
    expect(explanation.base).to.be.closeTo(-0.1, 1e-9);
    expect((await explain([[1, 0]]))[0]?.[0]).to.be.lessThan(-0.5);
  });

  it('explains trees with the hit rates of the file if they add up', async () => {
    const { explanation } = await compiled(withHitRates([1, 0.4, 0.1, 0.3, 0.6]), logit());
    expect(explanation.explainer.method).to.equal('tree');
    expect(explanation.base).to.be.closeTo(-0.1, 1e-6);
  });

  const unknown: Readonly<Record<string, [SampleModel, readonly number[] | undefined, RegExp]>> = {
    'hit rates that are constant': [withHitRates([1, 1, 1, 1, 1]), undefined, /hit rates .* constant or do not add up/],
    'hit rates that do not add up': [withHitRates([1, 0.5, 0.1, 0.3, 0.6]), undefined, /do not add up/],
    'neither covers nor hit rates': [regressor([tree], 2).model, undefined, /without the weights/],
    'covers that are constant': [regressor([tree], 2).model, [1, 1, 1, 1, 1], /covers are constant or do not/],
    'covers that do not add up': [regressor([tree], 2).model, [100, 60, 10, 30, 60], /do not add up/],
  };
  for (const [what, [model, covers, reason]] of Object.entries(unknown))
    it(`falls back to occlusion for trees with ${what}`, async () => {
      const { explanation } = await compiled(model, logit(covers && ofTrees), { covers });
      expect(explanation.explainer.method).to.equal('occlusion');
      expect(explanation.fallbackReason).to.match(reason);
    });

  it('falls back to occlusion for a neural network and names the operator that is not a sum', async () => {
    const explain = { kind: 'baseline', values: [0.5, 0.5] } as const;
    const { explanation } = await compiled(network, numbersManifest(2, { kind: 'logit', explain }));
    expect(explanation.explainer.method).to.equal('occlusion');
    expect(explanation.base).to.equal(undefined);
    expect(explanation.fallbackReason).to.match(/operator Relu/);
  });

  it('falls back to occlusion if contributions differ from ONNX on drawn rows', async () => {
    const { explanation } = await compiled(regressor([tree], 2).model, logit(ofTrees), {
      covers: [100, 40, 10, 30, 60],
      session: shifted(0.001),
    });
    expect(explanation.explainer.method).to.equal('occlusion');
    expect(explanation.fallbackReason).to.match(/add up to a probability of 0\.\d+, but ONNX says 0\.\d+/);
  });

  it('falls back to occlusion if contributions clearly differ from ONNX on golden rows', async () => {
    const golden = '{"record": {"c0": 1, "c1": 2}}\n{"record": {"c0": -1, "c1": 0}}\n';
    const explainedWith = async (shift: number) =>
      await compiled(regressor([tree], 2).model, logit(ofTrees), {
        covers: [100, 40, 10, 30, 60],
        golden,
        session: shifted(shift),
      });
    expect((await explainedWith(0.001)).explanation.explainer.method).to.equal('occlusion');
    expect((await explainedWith(1e-6)).explanation.explainer.method).to.equal('tree');
  });

  it('explains a linear model relative to a reference row instead of means', async () => {
    const model = graphModel(
      [learned('LinearRegressor', [floats('coefficients', [2, -1]), floats('intercepts', [0.5])])],
      {
        width: 2,
      },
    );
    const explain = { kind: 'baseline', values: [1, 1] } as const;
    const { explanation, explain: explainRows } = await compiled(model, numbersManifest(2, { kind: 'logit', explain }));
    expect(explanation.explainer.method).to.equal('linear');
    expect(explanation.base).to.equal(1.5);
    expect(await explainRows([[3, 0]])).to.deep.equal([[4, 1]]);
  });

  it('falls back to occlusion for a linear model without means or reference row', async () => {
    const attributes = [floats('coefficients', [2, -1]), floats('intercepts', [0.5]), text('post_transform', 'NONE')];
    const model = graphModel([learned('LinearRegressor', attributes)], { width: 2 });
    const { explanation, explain } = await compiled(model, numbersManifest(2, { kind: 'logit' }));
    expect(explanation.explainer.method).to.equal('occlusion');
    // The row of missing values has no probability, so zeros replace NaN.
    const [[first, second] = []] = await explain([[3, 1]]);
    expect(first).to.be.closeTo(6, 1e-6);
    expect(second).to.be.closeTo(-1, 1e-6);
  });
});

/** A session whose probabilities are shifted. */
const shifted = (by: number) => (real: InferenceSession) => ({
  run: async (rows: Float32Array, count: number) =>
    (await real.run(rows, count)).map((probability) => probability + by),
});
