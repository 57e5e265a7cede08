import {
  floats,
  ints,
  type SampleAttribute,
  type SampleModel,
  type SampleNode,
  text,
} from '../../../support/models/sample-onnx.js';
import { graphModel, learned, type ModelForm, plain } from '../explained-model.js';

/** x0 <= 10 ? a : (x1 < 1 ? b : c). */
const nodes: SampleAttribute[] = [
  ints('nodes_treeids', [7, 7, 7, 7, 7]),
  ints('nodes_nodeids', [0, 1, 2, 3, 4]),
  ints('nodes_featureids', [0, 0, 1, 0, 0]),
  ['BRANCH_LEQ', 'LEAF', 'BRANCH_LT', 'LEAF', 'LEAF'],
  floats('nodes_values', [10, 0, 1, 0, 0]),
  ints('nodes_truenodeids', [1, 0, 3, 0, 0]),
  ints('nodes_falsenodeids', [2, 0, 4, 0, 0]),
].map((attribute) => (Array.isArray(attribute) ? { name: 'nodes_modes', type: 8, strings: attribute } : attribute));
/** Covers of the trees in these forms. */
export const treeFormCovers = [100, 60, 40, 30, 10];

const weightsOf = (prefix: 'class' | 'target', ids: readonly number[], weights: readonly number[]) => {
  const leaves = [1, 3, 4].flatMap((leaf) => ids.map(() => leaf));
  return [
    ints(
      `${prefix}_treeids`,
      leaves.map(() => 7),
    ),
    ints(`${prefix}_nodeids`, leaves),
    ints(
      `${prefix}_ids`,
      [1, 3, 4].flatMap(() => [...ids]),
    ),
    floats(`${prefix}_weights`, [...weights]),
  ];
};

function classifier(ids: readonly number[], weights: readonly number[], more: SampleAttribute[] = []): SampleModel {
  const attributes = [...nodes, ...weightsOf('class', ids, weights), ints('classlabels_int64s', [0, 1]), ...more];
  return graphModel([learned('TreeEnsembleClassifier', attributes, { output: ['label', 'output'] })], {
    width: 2,
    outputs: 2,
  });
}

function regressor(more: SampleAttribute[], after: SampleNode[] = [], weights = [-1, 0.5, 1.5]): SampleModel {
  const attributes = [...nodes, ...weightsOf('target', [0], weights), { name: 'n_targets', type: 2, i: 1 }, ...more];
  const output = after.length === 0 ? 'output' : 'trees';
  return graphModel([learned('TreeEnsembleRegressor', attributes, { output: [output] }), ...after], {
    width: 2,
    outputs: after.some(({ opType }) => opType === 'Concat') ? 2 : 1,
    initializer: [
      { name: 'one', dims: [1], dataType: 1, floatData: [1] },
      { name: 'half', dims: [1, 1], dataType: 1, floatData: [0.5] },
    ],
  });
}

const doubles = (name: string, values: readonly number[]): SampleAttribute => ({
  name,
  type: 4,
  t: { name, dims: [values.length], dataType: 11, doubleData: [...values] },
});

const post = (name: string): SampleAttribute => text('post_transform', name);
const logits = [-1, 0.5, 1.5];
const probabilities = [0.125, 0.5, 0.875];

/** Forms in which converters write trees. */
export const treeForms: Readonly<Record<string, ModelForm>> = {
  'a classifier, one class id, LOGISTIC': { model: classifier([0], logits, [post('LOGISTIC')]) },
  'its other class': { model: classifier([0], logits, [post('LOGISTIC')]), positiveClass: 0 },
  'one class id and a base value': {
    model: classifier([0], logits, [post('LOGISTIC'), floats('base_values', [0.25])]),
  },
  'weights that are all positive, LOGISTIC': { model: classifier([0], [0.5, 1, 2], [post('LOGISTIC')]) },
  'weights that are all positive, NONE': { model: classifier([0], probabilities, [post('NONE')]) },
  'their other class': { model: classifier([0], probabilities, [post('NONE')]), positiveClass: 0 },
  'the class id 1 alone, LOGISTIC': { model: classifier([1], logits, [post('LOGISTIC')]) },
  'the class id 1 alone, SOFTMAX': { model: classifier([1], logits, [post('SOFTMAX')]) },
  'a forest with the probabilities of both classes': {
    model: classifier([0, 1], [0.875, 0.125, 0.5, 0.5, 0.25, 0.75], [post('NONE')]),
  },
  'two classes, SOFTMAX': { model: classifier([0, 1], [-1, 1, 0, 0.5, 2, -0.25], [post('SOFTMAX')]) },
  'two classes, LOGISTIC each': { model: classifier([0, 1], [-1, 1, 0, 0.5, 2, -0.25], [post('LOGISTIC')]) },
  'a regressor of logits': { model: regressor([]), kind: 'logit' },
  'a regressor of probabilities': { model: regressor([], [], probabilities) },
  'a regressor with a base value': { model: regressor([floats('base_values', [0.5])]), kind: 'logit' },
  'an average with a base value': {
    model: regressor([floats('base_values', [0.5]), text('aggregate_function', 'AVERAGE')]),
    kind: 'logit',
  },
  'a post-transform of one target, which ONNX Runtime ignores': {
    model: regressor([post('LOGISTIC')]),
    kind: 'logit',
  },
  'a regressor and a Sigmoid': { model: regressor([], [plain('Sigmoid', ['trees'], 'output')]) },
  'a regressor, Sigmoid, and a Concat of both classes': {
    model: regressor(
      [],
      [
        plain('Sigmoid', ['trees'], 'p'),
        plain('Sub', ['one', 'p'], 'q'),
        plain('Concat', ['q', 'p'], 'output', [{ name: 'axis', type: 2, i: 1 }]),
      ],
    ),
  },
  'arithmetic before the Sigmoid': {
    model: regressor(
      [],
      [
        plain('Mul', ['trees', 'half'], 'halved'),
        plain('Add', ['one', 'halved'], 'raised'),
        plain('Sub', ['raised', 'half'], 'lowered'),
        plain('Div', ['lowered', 'half'], 'doubled'),
        plain('Neg', ['doubled'], 'negated'),
        plain('Sigmoid', ['negated'], 'output'),
      ],
    ),
  },
  'a Scaler before the trees': {
    model: graphModel(
      [
        learned('Scaler', [floats('offset', [4, 1]), floats('scale', [0.5, 2])], { output: ['scaled'] }),
        learned(
          'TreeEnsembleRegressor',
          [...nodes, ...weightsOf('target', [0], logits), { name: 'n_targets', type: 2, i: 1 }],
          { input: 'scaled' },
        ),
      ],
      { width: 2 },
    ),
    kind: 'logit',
  },
  'columns selected before the trees': {
    model: graphModel(
      [
        plain('Gather', ['input', 'order'], 'picked', [{ name: 'axis', type: 2, i: 1 }]),
        learned(
          'TreeEnsembleRegressor',
          [...nodes, ...weightsOf('target', [0], logits), { name: 'n_targets', type: 2, i: 1 }],
          { input: 'picked' },
        ),
      ],
      { width: 2, initializer: [{ name: 'order', dims: [2], dataType: 7, int64Data: [1, 0] }] },
    ),
    kind: 'logit',
  },
  'float64 trees': {
    model: graphModel(
      [
        plain('Cast', ['input'], 'precise', [{ name: 'to', type: 2, i: 11 }]),
        learned(
          'TreeEnsembleRegressor',
          [
            ...nodes.filter(({ name }) => name !== 'nodes_values'),
            doubles('nodes_values_as_tensor', [10, 0, 1, 0, 0]),
            ...weightsOf('target', [0], logits).filter(({ name }) => name !== 'target_weights'),
            doubles('target_weights_as_tensor', logits),
            { name: 'n_targets', type: 2, i: 1 },
          ],
          { input: 'precise', output: ['trees'] },
        ),
        plain('Cast', ['trees'], 'output', [{ name: 'to', type: 2, i: 1 }]),
      ],
      { width: 2 },
    ),
    kind: 'logit',
  },
};
