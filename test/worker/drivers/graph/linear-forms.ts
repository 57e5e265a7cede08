import { floats, ints, type SampleAttribute, type SampleModel, text } from '../../../support/models/sample-onnx.js';
import { graphModel, learned, type ModelForm, plain } from '../explained-model.js';

const post = (name: string): SampleAttribute => text('post_transform', name);
const coefficients = [-0.25, 1];
const linear = (opType: string, attributes: SampleAttribute[]): SampleModel => {
  const classifies = opType === 'LinearClassifier';
  const node = learned(opType, attributes, classifies ? { output: ['label', 'output'] } : {});
  return graphModel([node], { width: 2, outputs: classifies ? 2 : 1 });
};
const binary = (name: string, weights: number[], intercepts: number[]): SampleModel =>
  linear('LinearClassifier', [
    floats('coefficients', weights),
    floats('intercepts', intercepts),
    ints('classlabels_ints', [0, 1]),
    post(name),
  ]);
const both = [...coefficients.map((weight) => -weight), ...coefficients];

/** Forms in which converters write linear models. */
export const linearForms: Readonly<Record<string, ModelForm>> = {
  'the two rows [-w, w], LOGISTIC': { model: binary('LOGISTIC', both, [-0.5, 0.5]) },
  'the two rows [-w, w], SOFTMAX': { model: binary('SOFTMAX', both, [-0.5, 0.5]) },
  'one row, LOGISTIC': { model: binary('LOGISTIC', coefficients, [0.5]) },
  'two rows that L1 normalisation leaves unchanged': {
    model: graphModel(
      [
        learned(
          'LinearClassifier',
          [
            floats('coefficients', both),
            floats('intercepts', [-0.5, 0.5]),
            ints('classlabels_ints', [0, 1]),
            post('LOGISTIC'),
          ],
          { output: ['label', 'both'] },
        ),
        learned('Normalizer', [text('norm', 'L1')], { input: 'both' }),
      ],
      { width: 2, outputs: 2 },
    ),
  },
  'a LinearRegressor of logits': {
    model: linear('LinearRegressor', [floats('coefficients', coefficients), floats('intercepts', [0.5])]),
    kind: 'logit',
  },
  'a Scaler before a LinearClassifier': {
    model: graphModel(
      [
        learned('Scaler', [floats('offset', [4]), floats('scale', [0.5])], { output: ['scaled'] }),
        learned(
          'LinearClassifier',
          [
            floats('coefficients', both),
            floats('intercepts', [-0.5, 0.5]),
            ints('classlabels_ints', [0, 1]),
            post('LOGISTIC'),
          ],
          { input: 'scaled', output: ['label', 'output'] },
        ),
      ],
      { width: 2, outputs: 2 },
    ),
  },
  'Gemm and Sigmoid': {
    model: graphModel(
      [
        plain('Gemm', ['input', 'w', 'b'], 'logit', [
          { name: 'transB', type: 2, i: 1 },
          { name: 'alpha', type: 1, f: 0.5 },
          { name: 'beta', type: 1, f: 2 },
        ]),
        plain('Sigmoid', ['logit'], 'output'),
      ],
      {
        width: 2,
        initializer: [
          { name: 'w', dims: [1, 2], dataType: 1, floatData: coefficients },
          { name: 'b', dims: [1], dataType: 1, floatData: [0.25] },
        ],
      },
    ),
  },
  'MatMul, Add and Softmax of two': {
    model: graphModel(
      [
        plain('MatMul', ['input', 'w'], 'products'),
        plain('Add', ['products', 'b'], 'scores'),
        plain('Softmax', ['scores'], 'output', [{ name: 'axis', type: 2, i: 1 }]),
      ],
      {
        width: 2,
        outputs: 2,
        initializer: [
          { name: 'w', dims: [2, 2], dataType: 1, floatData: [0.5, -0.25, 0, 1] },
          { name: 'b', dims: [2], dataType: 1, floatData: [0.25, -0.5] },
        ],
      },
    ),
  },
};
