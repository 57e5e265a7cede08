import type { Manifest } from '../manifest/manifest.js';
import { type ValueFacts, valueFacts } from './graph-values.js';
import { type OnnxGraph, type OnnxNode, type OnnxTensor, onnxBoolean } from './onnx-model.js';

/**
 * Problems of the answers that the graph itself shows. A run may not show them: it depends on the rows, and a tree that
 * reads beyond its row reads the memory behind it.
 *
 * The nodes of a valid graph are in the order of computation, so one pass suffices.
 */
export function graphProblems(graph: OnnxGraph, { onnx, width }: Manifest): string[] {
  const facts = valueFacts(graph, { input: onnx.input, width });
  return [
    ...trainingProblems(graph),
    ...new Set(graph.node.flatMap((node) => columnProblems(node, facts))),
    ...outputProblems(onnx, facts.get(onnx.output)),
  ];
}

const forInference = 'export the model for inference (`model.eval()`)';

function trainingProblems(graph: OnnxGraph): string[] {
  const off = storedFalse(graph);
  const problems = graph.node.flatMap(({ opType, attribute, input }) => {
    const training = `operator "${opType}" is in training mode`;
    const mode = attribute.find(({ name }) => name === 'training_mode')?.i ?? 0;
    if (opType === 'BatchNormalization' && mode !== 0)
      return [`${training}, so a score depends on the other records of the call: ${forInference}`];
    const [, , dropoutMode = ''] = input;
    if (opType !== 'Dropout' || dropoutMode === '' || off.has(dropoutMode)) return [];
    return [`${training}, so a score depends on chance: ${forInference}`];
  });
  return [...new Set(problems)];
}

/** The names of stored tensors that are false. */
function storedFalse({ initializer, node }: OnnxGraph): ReadonlySet<string> {
  const constants = node
    .filter(({ opType }) => opType === 'Constant')
    .map(({ output, attribute }) => [output[0] ?? '', attribute.find(({ t }) => t !== null)?.t ?? null] as const);
  const stored = [...initializer.map((tensor) => [tensor.name, tensor] as const), ...constants];
  return new Set(stored.filter(([, tensor]) => tensor !== null && isFalse(tensor)).map(([name]) => name));
}

const isFalse = ({ dataType, rawData, int32Data }: OnnxTensor): boolean =>
  dataType === onnxBoolean && rawData.every((byte) => byte === 0) && int32Data.every((value) => value === 0);

/** ONNX Runtime does not compare the columns that trees read with the width of its input. */
function columnProblems(node: OnnxNode, facts: ReadonlyMap<string, ValueFacts>): string[] {
  if (!node.opType.startsWith('TreeEnsemble')) return [];
  const columns = facts.get(node.input[0] ?? '')?.columns;
  const modes = node.attribute.find(({ name }) => name === 'nodes_modes')?.strings ?? [];
  const features = node.attribute.find(({ name }) => name === 'nodes_featureids')?.ints ?? [];
  const isOutside = (column: number): boolean => column < 0 || (columns !== undefined && column >= columns);
  const outside = features.find((column, index) => isOutside(column) && modes[index] !== 'LEAF');
  if (outside === undefined) return [];
  const those = columns === undefined ? 'the columns of its input' : `0..${columns - 1}`;
  return [
    `${node.opType} reads column ${outside}, outside ${those}: convert the model with the columns of the features`,
  ];
}

function outputProblems(onnx: Manifest['onnx'], output: ValueFacts | undefined): string[] {
  const { output: name, kind } = onnx;
  const problems: string[] = [];
  if (output?.varies === false)
    problems.push(
      `output "${name}" is the same for every record, because no tree has a branch or no operator reads the input: train the model again`,
    );
  const { form } = output ?? {};
  if (form?.kind === 'probability' && kind === 'logit')
    problems.push(
      `output "${name}" comes from ${form.operator}, so it is a probability, but onnx.kind is "logit": set onnx.kind to "probability"`,
    );
  if (form?.kind === 'log-probability')
    problems.push(
      `output "${name}" comes from ${form.operator}, so it is the logarithm of a probability: end the graph in Softmax, with the onnx.kind "probability"`,
    );
  return problems;
}
