/**
 * The operators that a bundle's graph may use: those that the converters of LightGBM, XGBoost, CatBoost and
 * scikit-learn write for trees, forests, linear models, networks and their preprocessing, and plain tensor
 * arithmetic. A list of what is allowed, because what is not known to be harmless is refused: control flow (If,
 * Loop, Scan carry graphs of their own), random numbers (a score must be reproducible), text (strings are encoded
 * before the model), sequences and maps (ZipMap), and operators that only one runtime knows.
 */
const TENSOR_OPERATORS = `
  Abs Add And ArgMax ArgMin BatchNormalization Cast CastLike Ceil Clip Concat Constant ConstantOfShape CumSum Div
  Dropout Elu Equal Erf Exp Expand Flatten Floor Gather GatherElements GatherND Gelu Gemm GlobalAveragePool Greater
  GreaterOrEqual HardSigmoid HardSwish Identity IsInf IsNaN LayerNormalization LeakyRelu Less LessOrEqual Log
  LogSoftmax MatMul Max Mean Min Mish Mod Mul Neg Not OneHot Or Pad Pow PRelu Reciprocal ReduceL1 ReduceL2
  ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape
  Round Selu Shape Sigmoid Sign Size Slice Softmax Softplus Softsign Split Sqrt Squeeze Sub Sum Swish Tanh
  ThresholdedRelu TopK Transpose Unsqueeze Where Xor`;

const MACHINE_LEARNING_OPERATORS = `
  ArrayFeatureExtractor Binarizer FeatureVectorizer Imputer LabelEncoder LinearClassifier LinearRegressor Normalizer
  OneHotEncoder SVMClassifier SVMRegressor Scaler TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor`;

export const TENSOR_DOMAIN = 'ai.onnx';
export const MACHINE_LEARNING_DOMAIN = 'ai.onnx.ml';

const ALLOWED: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [TENSOR_DOMAIN, words(TENSOR_OPERATORS)],
  [MACHINE_LEARNING_DOMAIN, words(MACHINE_LEARNING_OPERATORS)],
]);

/**
 * The operator set versions that onnxruntime-node 1.30 runs. A lower `ai.onnx` version than 7 is accepted in files
 * that use none of its operators: converters of tree models stamp them so.
 */
export const OPSET_VERSIONS: ReadonlyMap<string, { readonly lowest: number; readonly highest: number }> =
  new Map([
    [TENSOR_DOMAIN, { lowest: 7, highest: 26 }],
    [MACHINE_LEARNING_DOMAIN, { lowest: 1, highest: 5 }],
  ]);

/** The highest version of the file format itself that onnxruntime-node 1.30 reads. */
export const HIGHEST_IR_VERSION = 13;

/**
 * @param domain a domain as an ONNX file writes it
 * @returns its name; the standard one may be left empty in a file
 */
export function domainName(domain: string): string {
  return domain === '' ? TENSOR_DOMAIN : domain;
}

/**
 * @param domain a domain's name, never empty (see `domainName`)
 * @param operator an operator's type, such as `Gemm`
 * @returns whether a bundle's graph may use it
 */
export function isAllowedOperator(domain: string, operator: string): boolean {
  return ALLOWED.get(domain)?.has(operator) ?? false;
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}
