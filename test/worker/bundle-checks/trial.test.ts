import { expect } from 'chai';
import { BundleError } from '../../../shared/bundle/bundle-error.js';
import type { BundleFiles } from '../../../shared/bundle/bundle-files.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import type { CheckedModel } from '../../../shared/messages/bundle-check-job.js';
import { runBundle } from '../../../worker/bundle-checks/golden-check.js';
import { drawing } from '../../../worker/drivers/check-rows.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { floats } from '../../support/models/sample-onnx.js';
import {
  castTo,
  graphBundle,
  integer,
  numbers,
  op,
  stump,
  truth,
  twoSums,
  twoWeights,
  weightedSum,
  weights,
  wholes,
} from '../../support/models/small-graphs.js';
import { wrongBundles } from '../../support/models/wrong-graphs.js';

const run = async (files: BundleFiles): Promise<CheckedModel> => runBundle(checkBundle(files), { nowMs: 0 });

const sigmoid = op('Sigmoid', ['s'], 'y');
const axis = (value: number) => [integer('axis', value)];
const keep = [integer('keepdims', 1)];

/** A network with two hidden layers of 64 neurons. */
function network(): BundleFiles {
  const draw = drawing(7);
  const layer = (name: string, rows: number, columns: number) =>
    numbers(
      name,
      [rows, columns],
      Array.from({ length: rows * columns }, () => draw() - 0.5),
    );
  return graphBundle({
    nodes: [
      op('MatMul', ['x', 'one'], 'h1'),
      op('Relu', ['h1'], 'r1'),
      op('MatMul', ['r1', 'two'], 'h2'),
      op('Tanh', ['h2'], 'r2'),
      op('MatMul', ['r2', 'three'], 's'),
      sigmoid,
    ],
    stored: [layer('one', 3, 64), layer('two', 64, 64), layer('three', 64, 1)],
  });
}

/** Graphs that give each record one number, and resemble wrong ones. */
const rightBundles: readonly (readonly [title: string, files: () => BundleFiles])[] = [
  ['a linear model', () => sampleBundle()],
  ['a tree', () => sampleBundle({ model: 'tree' })],
  ['a network', network],
  ['a logit', () => graphBundle({ nodes: [{ ...weightedSum, output: ['y'] }], stored: [weights], kind: 'logit' })],
  [
    'a logit in two columns [-s, s]',
    () =>
      graphBundle({
        nodes: [weightedSum, op('Neg', ['s'], 'n'), op('Concat', ['n', 's'], 'y', axis(1))],
        ...{ stored: [weights], classes: 2, kind: 'logit' },
      }),
  ],
  [
    'a logit in a list without columns',
    () =>
      graphBundle({
        nodes: [weightedSum, op('Squeeze', ['s', 'axes'], 'y')],
        ...{ stored: [weights, wholes('axes', [1])], classes: [undefined], kind: 'logit' },
      }),
  ],
  [
    'probabilities of two classes',
    () => graphBundle({ nodes: [twoSums, op('Softmax', ['t'], 'y', axis(1))], stored: [twoWeights], classes: 2 }),
  ],
  [
    'probabilities of three classes',
    () =>
      graphBundle({
        nodes: [op('Softmax', ['x'], 'y')],
        classes: 3,
      }),
  ],
  [
    'sums in float16',
    () =>
      graphBundle({
        nodes: [
          op('Cast', ['x'], 'h', [castTo.half]),
          op('Cast', ['w'], 'v', [castTo.half]),
          op('MatMul', ['h', 'v'], 'm'),
          op('Sigmoid', ['m'], 'p'),
          op('Cast', ['p'], 'y', [castTo.float]),
        ],
        stored: [weights],
      }),
  ],
  [
    'a dropout for inference',
    () =>
      graphBundle({
        nodes: [op('Dropout', ['x', 'ratio', 'off'], 'k'), op('MatMul', ['k', 'w'], 's'), sigmoid],
        stored: [weights, numbers('ratio', [], [0.5]), truth('off', false)],
      }),
  ],
  [
    'a dropout without a mode',
    () =>
      graphBundle({ nodes: [op('Dropout', ['x'], 'k'), op('MatMul', ['k', 'w'], 's'), sigmoid], stored: [weights] }),
  ],
  [
    'a mean over the columns of a record',
    () =>
      graphBundle({
        nodes: [
          op('ReduceMean', ['x', 'axes'], 'mean', keep),
          op('Sub', ['x', 'mean'], 'd'),
          op('MatMul', ['d', 'w'], 's'),
          sigmoid,
        ],
        stored: [weights, wholes('axes', [1])],
      }),
  ],
  [
    'a sum over the first axis of the weights',
    () =>
      graphBundle({
        nodes: [
          op('ReduceSum', ['w', 'axes'], 'sum', keep),
          weightedSum,
          op('Add', ['s', 'sum'], 'r'),
          op('Sigmoid', ['r'], 'y'),
        ],
        stored: [weights, wholes('axes', [0])],
      }),
  ],
  [
    'a batch normalization for inference',
    () => {
      const each = (name: string) => numbers(name, [3], [1, 2, 3]);
      return graphBundle({
        nodes: [
          op('BatchNormalization', ['x', 'scale', 'bias', 'mean', 'var'], 'n'),
          op('MatMul', ['n', 'w'], 's'),
          sigmoid,
        ],
        stored: [weights, ...['scale', 'bias', 'mean', 'var'].map(each)],
      });
    },
  ],
  [
    'a tree behind a scaler',
    () =>
      graphBundle({
        nodes: [
          op('Scaler', ['x'], 'scaled', [floats('offset', [0, 1, 2]), floats('scale', [1, 2, 3])]),
          stump(2, [0.1, 0.4], 'scaled'),
        ],
      }),
  ],
  [
    'a tree on one of two selected columns',
    () =>
      graphBundle({
        nodes: [op('ArrayFeatureExtractor', ['x', 'chosen'], 'two'), stump(1, [0.1, 0.4], 'two')],
        stored: [wholes('chosen', [0, 2])],
      }),
  ],
  ['a probability of 1.0000001', () => graphBundle({ nodes: [stump(0, [0, 1.0000001])] })],
  [
    'a regression that is clipped',
    () =>
      graphBundle({
        nodes: [stump(0, [-0.05, 1.08], 'x', 'r'), op('Clip', ['r', 'least', 'most'], 'y')],
        stored: [numbers('least', [], [0]), numbers('most', [], [1])],
      }),
  ],
  [
    'a logit that is never below 0, at a base rate of 60 %',
    () =>
      graphBundle({
        nodes: [stump(0, [0.2, 0.6])],
        ...{ kind: 'logit', options: { manifest: { validation: { base_rate: 0.6, holdout_top_lift: 1.2 } } } },
      }),
  ],
  [
    'a lift that the rounding of the base rate raises above 1',
    () =>
      graphBundle({
        nodes: [weightedSum, sigmoid],
        ...{ stored: [weights], options: { manifest: { validation: { base_rate: 0.334, holdout_top_lift: 3 } } } },
      }),
  ],
];

describe('runBundle tries a model, and', () => {
  for (const [title, files, reason] of wrongBundles) {
    it(`refuses ${title}`, async () => {
      const error = await run(files()).then(
        () => expect.fail('the bundle was not refused'),
        (thrown: unknown) => thrown,
      );
      expect(error).to.be.instanceOf(BundleError);
      const { message } = error as BundleError;
      expect(message).to.match(reason);
      expect(message).to.have.length.below(340);
      expect(message, 'no control character').to.not.match(/\p{Cc}/u);
    });
  }

  for (const [title, files] of rightBundles) {
    it(`accepts ${title}`, async () => {
      expect((await run(files())).notes).to.deep.equal([]);
    });
  }

  it('notes that all records tried get one answer', async () => {
    const { notes } = await run(graphBundle({ nodes: [stump(0, [0.25, 0.25])] }));
    expect(notes).to.deep.equal([
      'All 32 drawn records get one answer (0.25). Check that the model reads the columns of the features.',
    ]);
  });

  it('notes that all records tried have one score, or one likelihood', async () => {
    const low = Array.from({ length: 101 }, (_, percentile) => percentile / 1e6);
    const calibration = { kind: 'isotonic', x: [0, 1], y: [0.2, 0.2] } as const;
    const { notes } = await run(
      graphBundle({ nodes: [stump(0, [0.1, 0.4])], options: { manifest: { quantiles: low, calibration } } }),
    );
    expect(notes).to.deep.equal([
      'All 32 drawn records score 100. Check that the quantiles belong to this model.',
      'All 32 drawn records have the likelihood 0.2. Check that the calibration belongs to this model.',
    ]);
  });

  it('tries golden records too, because drawn rows may be far from any lead', async () => {
    // Only between 1000 and 1001 does the first column mix the records.
    const files = graphBundle({
      nodes: [
        op('Greater', ['x', 'from'], 'above'),
        op('Less', ['x', 'to'], 'below'),
        op('And', ['above', 'below'], 'inside'),
        op('Cast', ['inside'], 'flags', [castTo.float]),
        op('MatMul', ['flags', 'w'], 'flag'),
        op('ReduceSum', ['flag', 'axes'], 'sum', keep),
        weightedSum,
        op('Mul', ['flag', 'sum'], 'mixed'),
        op('Add', ['s', 'mixed'], 'r'),
        op('Sigmoid', ['r'], 'y'),
      ],
      stored: [weights, numbers('from', [1], [1000.25]), numbers('to', [1], [1000.5]), wholes('axes', [0])],
    });
    expect((await run(files)).notes).to.deep.equal([]);
    const lines = [1, 2, 3].map((b) => JSON.stringify({ record: { a: 1000.3, b: -b, c: -3000 } }));
    files.set('golden.jsonl', Buffer.from(lines.join('\n')));
    const error = await run(files).then(
      () => expect.fail('the bundle was not refused'),
      (thrown: unknown) => thrown as Error,
    );
    expect(error.message).to.match(/depends on the other records of the call \(golden record \d: /);
  });
});
