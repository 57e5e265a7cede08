import type { BundleFiles } from '../../../shared/bundle/bundle-files.js';
import {
  castTo,
  graphBundle,
  integer,
  numbers,
  op,
  singleLeaf,
  stump,
  truth,
  twoSums,
  twoWeights,
  weightedSum,
  weights,
  wholes,
} from './small-graphs.js';

/** A bundle, and the reason for which it is refused. */
export type WrongBundle = readonly [title: string, files: () => BundleFiles, reason: RegExp];

const sigmoid = op('Sigmoid', ['s'], 'y');
const mixes = /the score of a record depends on the other records of the call \(.*: \S+ alone, \S+ with others/;
const looksLike = (form: string, remedy: string) => new RegExp(`It looks like ${form}.*: .*${remedy}`);

/** Bundles whose answer to a record is not one number of the kind that the manifest says. */
export const wrongBundles: readonly WrongBundle[] = [
  // One record, several answers.
  [
    'a mean over the records of the call',
    () =>
      graphBundle({
        nodes: [
          op('ReduceMean', ['x', 'first'], 'mean'),
          op('Sub', ['x', 'mean'], 'd'),
          op('MatMul', ['d', 'w'], 's'),
          sigmoid,
        ],
        stored: [weights, wholes('first', [0])],
      }),
    new RegExp(`${mixes.source}; the graph has ReduceMean over axis 0\\)`),
  ],
  [
    'a softmax over the records of the call',
    () =>
      graphBundle({
        nodes: [twoSums, op('Softmax', ['t'], 'y', [integer('axis', 0)])],
        stored: [twoWeights],
        classes: 2,
      }),
    mixes,
  ],
  [
    'the first record of the call as the answer to all',
    () =>
      graphBundle({
        nodes: [
          weightedSum,
          op('Gather', ['s', 'zero'], 'first'),
          op('Mul', ['s', 'none'], 'zeros'),
          op('Add', ['zeros', 'first'], 'sums'),
          op('Sigmoid', ['sums'], 'y'),
        ],
        stored: [weights, wholes('zero', [0]), numbers('none', [1], [0])],
      }),
    mixes,
  ],
  [
    'a running sum over the records of the call',
    () =>
      graphBundle({
        nodes: [weightedSum, op('CumSum', ['s', 'axis'], 'sums'), op('Sigmoid', ['sums'], 'y')],
        stored: [weights, { ...wholes('axis', [0]), dims: [] }],
      }),
    mixes,
  ],
  [
    'another answer in a call of 200 records',
    () =>
      graphBundle({
        nodes: [
          weightedSum,
          op('Shape', ['x'], 'shape'),
          op('Gather', ['shape', 'zero'], 'count'),
          op('Cast', ['count'], 'size', [castTo.float]),
          op('Greater', ['size', 'limit'], 'many'),
          op('Cast', ['many'], 'shift', [castTo.float]),
          op('Add', ['s', 'shift'], 'sums'),
          op('Sigmoid', ['sums'], 'y'),
        ],
        stored: [weights, wholes('zero', [0]), numbers('limit', [1], [200])],
      }),
    mixes,
  ],
  [
    'a dropout in training mode',
    () =>
      graphBundle({
        nodes: [op('Dropout', ['x', 'ratio', 'on'], 'kept'), op('MatMul', ['kept', 'w'], 's'), sigmoid],
        stored: [weights, { ...numbers('ratio', [], [0.5]) }, truth('on', true)],
      }),
    /operator "Dropout" is in training mode.*export the model for inference/,
  ],
  [
    'a dropout whose mode is computed',
    () =>
      graphBundle({
        nodes: [
          op('Shape', ['x'], 'shape'),
          op('Gather', ['shape', 'one'], 'columns'),
          op('Cast', ['columns'], 'on', [integer('to', 9)]),
          op('Dropout', ['x', 'ratio', 'on'], 'kept'),
          op('MatMul', ['kept', 'w'], 's'),
          sigmoid,
        ],
        stored: [weights, numbers('ratio', [], [0.5]), { ...wholes('one', [1]), dims: [] }],
      }),
    /operator "Dropout" is in training mode/,
  ],
  [
    'random numbers',
    () =>
      graphBundle({
        nodes: [op('RandomNormalLike', ['x'], 'n'), op('MatMul', ['n', 'w'], 's'), sigmoid],
        stored: [weights],
      }),
    /"RandomNormalLike".*is not allowed: a score must not depend on chance/,
  ],
  [
    'a tree that reads a column beyond its row',
    () => graphBundle({ nodes: [stump(27, [0.1, 0.4])] }),
    /reads column 27, outside 0\.\.2: convert the model with the columns of the features/,
  ],
  [
    'a tree that reads a negative column',
    () => graphBundle({ nodes: [stump(-1, [0.1, 0.4])] }),
    /reads column -1, outside 0\.\.2/,
  ],
  [
    'a tree that reads a column beyond two selected ones',
    () =>
      graphBundle({
        nodes: [op('ArrayFeatureExtractor', ['x', 'chosen'], 'two'), stump(2, [0.1, 0.4], 'two')],
        stored: [wholes('chosen', [0, 1])],
      }),
    /reads column 2, outside 0\.\.1/,
  ],
  // Probabilities and logits.
  [
    'a logit as a probability',
    () => graphBundle({ nodes: [{ ...weightedSum, output: ['y'] }], stored: [weights] }),
    looksLike('a logit', 'set onnx.kind to "logit"'),
  ],
  [
    'two logits as probabilities',
    () => graphBundle({ nodes: [{ ...twoSums, output: ['y'] }], stored: [twoWeights], classes: 2 }),
    looksLike('a logit of each class', 'end the graph in Softmax'),
  ],
  [
    'two logits as a logit',
    () => graphBundle({ nodes: [{ ...twoSums, output: ['y'] }], stored: [twoWeights], classes: 2, kind: 'logit' }),
    /2 columns that are not \[-s, s\].*end the graph in Softmax, with the onnx.kind "probability"/,
  ],
  [
    'the logarithms of probabilities',
    () => graphBundle({ nodes: [twoSums, op('LogSoftmax', ['t'], 'y')], stored: [twoWeights], classes: 2 }),
    /comes from LogSoftmax.*end the graph in Softmax/,
  ],
  [
    'the logarithm of a probability, computed',
    () => graphBundle({ nodes: [weightedSum, op('Sigmoid', ['s'], 'p'), op('Log', ['p'], 'y')], stored: [weights] }),
    looksLike('the logarithm of a probability', 'end the graph in Softmax'),
  ],
  [
    'a percentage',
    () =>
      graphBundle({
        nodes: [weightedSum, op('Sigmoid', ['s'], 'p'), op('Mul', ['p', 'hundred'], 'y')],
        stored: [weights, numbers('hundred', [1], [100])],
      }),
    looksLike('a percentage', 'divide it by 100'),
  ],
  [
    'percentages of two classes',
    () =>
      graphBundle({
        nodes: [twoSums, op('Softmax', ['t'], 'p'), op('Mul', ['p', 'hundred'], 'y')],
        stored: [twoWeights, numbers('hundred', [1], [100])],
        classes: 2,
      }),
    looksLike('a percentage', 'divide it by 100'),
  ],
  [
    'a probability as a logit',
    () => graphBundle({ nodes: [weightedSum, sigmoid], stored: [weights], kind: 'logit' }),
    /comes from Sigmoid, so it is a probability.*set onnx.kind to "probability"/,
  ],
  [
    'probabilities as a logit',
    () => graphBundle({ nodes: [twoSums, op('Softmax', ['t'], 'y')], stored: [twoWeights], classes: 2, kind: 'logit' }),
    /comes from Softmax, so it is a probability/,
  ],
  [
    'probabilities of a computed softmax as a logit',
    () =>
      graphBundle({
        nodes: [twoSums, op('Softmax', ['t'], 'p'), op('Mul', ['p', 'one'], 'y')],
        stored: [twoWeights, numbers('one', [1], [1])],
        classes: 2,
        kind: 'logit',
      }),
    /adds up to 1 for every record.*set onnx.kind to "probability"/,
  ],
  [
    'the probability of a forest as a logit',
    () => graphBundle({ nodes: [stump(0, [0.1, 0.4])], kind: 'logit' }),
    /is between 0 and 1 for every record tried.*set onnx.kind to "probability"/,
  ],
  [
    'a regression as a probability',
    () => graphBundle({ nodes: [stump(0, [-0.05, 1.08])] }),
    looksLike('a regression', 'Clip with the limits 0 and 1'),
  ],
  // No answer, or one for all.
  [
    'one number for all records',
    () =>
      graphBundle({
        nodes: [
          weightedSum,
          op('ReduceMean', ['s', 'axes'], 'mean', [integer('keepdims', 1)]),
          op('Sigmoid', ['mean'], 'y'),
        ],
        stored: [weights, wholes('axes', [0, 1])],
        classes: [undefined, undefined],
      }),
    /the output "y" has 1 values for 32 rows\. Remedy: let the output have a row for each record/,
  ],
  [
    'a fixed number of records inside the graph',
    () =>
      graphBundle({
        nodes: [weightedSum, op('Reshape', ['s', 'shape'], 'r'), op('Sigmoid', ['r'], 'y')],
        stored: [weights, wholes('shape', [1, 1])],
      }),
    /ONNX Runtime does not run 32 records in one call: .*[Rr]eshape.*Remedy: convert the model with an open first dimension/,
  ],
  [
    'a forest of one leaf',
    () => graphBundle({ nodes: [singleLeaf] }),
    /is the same for every record.*train the model again/,
  ],
  [
    'no number for any record',
    () =>
      graphBundle({
        nodes: [weightedSum, op('Sub', ['s', 's'], 'zero'), op('Div', ['zero', 'zero'], 'y')],
        stored: [weights],
      }),
    /is no number for any of the records tried/,
  ],
  [
    'a table that a missing value leads out of',
    () =>
      graphBundle({
        nodes: [
          op('Gather', ['x', 'zero'], 'a', [integer('axis', 1)]),
          op('Cast', ['a'], 'index', [integer('to', 7)]),
          op('Gather', ['table', 'index'], 'y'),
        ],
        stored: [numbers('table', [3], [0.1, 0.2, 0.3]), wholes('zero', [0])],
      }),
    /does not run 32 records in one call: .*out of data bounds.*Remedy: give the features `impute` and `other_value`/,
  ],
  [
    'layers that do not fit each other',
    () =>
      graphBundle({
        nodes: [op('Mul', ['x', 'scale'], 'scaled'), op('MatMul', ['scaled', 'w'], 's'), sigmoid],
        stored: [weights, numbers('scale', [2], [1, 1])],
      }),
    /ONNX Runtime does not run it: .*Remedy: check that the model takes the columns of the features/,
  ],
  // Calibration.
  [
    'a falling platt curve',
    () =>
      graphBundle({
        nodes: [weightedSum, sigmoid],
        stored: [weights],
        options: { manifest: { calibration: { kind: 'platt', a: -1, b: 0 } } },
      }),
    /calibration\.a is -1, so a higher raw probability would not give a higher likelihood: .*positive_class/,
  ],
  [
    'a level platt curve',
    () =>
      graphBundle({
        nodes: [weightedSum, sigmoid],
        stored: [weights],
        options: { manifest: { calibration: { kind: 'platt', a: 0, b: -2 } } },
      }),
    /calibration\.a is 0/,
  ],
  [
    'equal quantiles',
    () =>
      graphBundle({
        nodes: [weightedSum, sigmoid],
        stored: [weights],
        options: { manifest: { quantiles: new Array<number>(101).fill(0.25) } },
      }),
    /quantiles are all 0\.25: give the percentiles/,
  ],
  [
    'a best fifth that converts in 160 % of cases',
    () =>
      graphBundle({
        nodes: [weightedSum, sigmoid],
        stored: [weights],
        options: { manifest: { validation: { horizon_days: 30, base_rate: 0.4, holdout_top_lift: 4 } } },
      }),
    /holdout_top_lift is 4 at a base_rate of 0\.4, so 160 % of the best fifth would convert: take both from the same rows/,
  ],
];
