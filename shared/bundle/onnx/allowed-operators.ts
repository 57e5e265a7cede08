/*
 * The operators that a bundle's graph may use: those that the converters of LightGBM, XGBoost, CatBoost and
 * scikit-learn write, and plain tensor arithmetic. This is an allow list, so unknown operators are refused.
 *
 * Left out on purpose:
 * - control flow (If, Loop, Scan): these have subgraphs;
 * - random numbers: a score must be reproducible;
 * - strings: they are encoded before the model runs;
 * - sequences and maps (ZipMap);
 * - operators that only one runtime implements.
 */
const tensorOperators = `
  Abs Add And ArgMax ArgMin BatchNormalization Cast CastLike Ceil Clip Concat Constant ConstantOfShape CumSum Div
  Dropout Elu Equal Erf Exp Expand Flatten Floor Gather GatherElements GatherND Gelu Gemm GlobalAveragePool Greater
  GreaterOrEqual HardSigmoid HardSwish Identity IsInf IsNaN LayerNormalization LeakyRelu Less LessOrEqual Log
  LogSoftmax MatMul Max Mean Min Mish Mod Mul Neg Not OneHot Or Pad Pow PRelu Reciprocal ReduceL1 ReduceL2
  ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape
  Round Selu Shape Sigmoid Sign Size Slice Softmax Softplus Softsign Split Sqrt Squeeze Sub Sum Swish Tanh
  ThresholdedRelu TopK Transpose Unsqueeze Where Xor`;

const machineLearningOperators = `
  ArrayFeatureExtractor Binarizer FeatureVectorizer Imputer LabelEncoder LinearClassifier LinearRegressor Normalizer
  OneHotEncoder SVMClassifier SVMRegressor Scaler TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor`;

const tensorDomain = 'ai.onnx';
const machineLearningDomain = 'ai.onnx.ml';

const allowed: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [tensorDomain, words(tensorOperators)],
  [machineLearningDomain, words(machineLearningOperators)],
]);

/** The name of a domain as an ONNX file writes it: empty means the standard domain. */
export function domainName(domain: string): string {
  return domain === '' ? tensorDomain : domain;
}

/**
 * @param domain never empty, see `domainName`
 * @param operator type of the operator, such as `Gemm`
 */
export function isAllowedOperator(domain: string, operator: string): boolean {
  return allowed.get(domain)?.has(operator) ?? false;
}

/** The remedy for an operator that is not allowed, by the pattern of `domain:operator`. The first counts. */
const remedies: readonly (readonly [operators: RegExp, remedy: string])[] = [
  [/:ZipMap$/, 'convert the model with the option zipmap=False'],
  [/:(Q(Linear|Gemm|Attention)|(Dynamic)?(Quantize|Dequantize)|\w+Integer)/, 'do not quantise the model'],
  [/:(Random|Bernoulli|Multinomial)/, 'a score must not depend on chance, so export the model for inference'],
  [/:(If|Loop|Scan|Sequence\w*|Optional\w*)$/, 'convert the model without control flow and sequences'],
  [/:(String|Regex|TfIdf|Tokenizer|CategoryMapper)/, 'let features encode the texts, and give the model numbers'],
  [/^com\.microsoft/, 'save the model as it was before ONNX Runtime optimised it'],
];

/** The remedy for an operator that is not allowed. Completes "is not allowed: ...". */
export function operatorRemedy(domain: string, operator: string): string {
  const found = remedies.find(([operators]) => operators.test(`${domain}:${operator}`));
  return found?.[1] ?? 'convert the model without it (docs/models.md lists the operators)';
}

/** The words of a text. */
export function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}
