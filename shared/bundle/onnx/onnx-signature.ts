import type { Manifest, OnnxReference } from '../manifest/manifest.js';
import {
  elementTypeName,
  type OnnxDimension,
  type OnnxGraph,
  type OnnxTensorType,
  type OnnxValue,
  onnxFloat,
} from './onnx-model.js';

/**
 * Compares a graph's input and output with the manifest. Sizes that the file leaves open are not checked here: the
 * import runs the model before it serves calls.
 * @returns the problems; none if they match
 */
export function signatureProblems(graph: OnnxGraph, manifest: Manifest): string[] {
  return [...inputProblems(graph, manifest), ...outputProblems(graph, manifest.onnx)];
}

function inputProblems(graph: OnnxGraph, { onnx, width }: Manifest): string[] {
  // Files before IR version 4 list initializers among the inputs, although a caller need not supply them.
  const initialized = new Set([
    ...graph.initializer.map(({ name }) => name),
    ...graph.sparseInitializer.map(({ values }) => values?.name),
  ]);
  const needed = graph.input.filter(({ name }) => !initialized.has(name));
  const input = needed.find(({ name }) => name === onnx.input);
  if (input === undefined) return [`has no input "${onnx.input}"${available(needed)}`];

  const what = `input "${onnx.input}"`;
  const problems = needed
    .filter(({ name }) => name !== onnx.input)
    .map(({ name }) => `needs a second input "${name}", but a model may take only one tensor [N, ${width}]`);
  const tensor = input.type?.tensorType ?? null;
  if (tensor === null) return [...problems, `${what} is not a tensor`];
  if (tensor.elemType !== onnxFloat) {
    problems.push(`${what} is ${elementTypeName(tensor.elemType)}, not float32: convert the model for float32 tensors`);
  }
  if (tensor.shape === null) return problems;
  const [batch, columns, ...rest] = tensor.shape.dim;
  if (batch === undefined || columns === undefined || rest.length > 0) {
    return [...problems, `${what} has ${tensor.shape.dim.length} dimensions, not 2`];
  }
  const rows = sizeOf(batch);
  if (rows !== undefined) problems.push(`${what} takes exactly ${rows} rows: leave its first dimension open`);
  const given = sizeOf(columns);
  if (given !== undefined && given !== width) {
    problems.push(`${what} is ${given} columns wide, but width in the manifest is ${width}`);
  }
  return problems;
}

function outputProblems(graph: OnnxGraph, onnx: OnnxReference): string[] {
  const output = graph.output.find(({ name }) => name === onnx.output);
  if (output === undefined) return [`has no output "${onnx.output}"${available(graph.output)}`];
  const what = `output "${onnx.output}"`;
  const tensor = output.type?.tensorType ?? null;
  if (tensor === null) return [`${what} is not a tensor: convert the model with the option zipmap=False`];
  if (tensor.elemType !== onnxFloat) {
    const others = graph.output.filter(({ type }) => type?.tensorType?.elemType === onnxFloat);
    const remedy =
      others.length > 0
        ? `name the output of the probabilities${available(others)}`
        : 'convert the model for float32 tensors';
    return [`${what} is ${elementTypeName(tensor.elemType)}, not float32: ${remedy}`];
  }
  const rank = tensor.shape?.dim.length;
  if (rank !== undefined && rank !== 1 && rank !== 2) return [`${what} has ${rank} dimensions, not 1 or 2`];

  const classes = classCount(graph, { output, tensor });
  // A single column belongs to the positive class, which may be either of the two.
  const known = classes === 1 ? 2 : classes;
  if (known === undefined || onnx.positive_class < known) return [];
  return [`${what} has ${known} classes, but the manifest's positive_class is ${onnx.positive_class}`];
}

function classCount(
  graph: OnnxGraph,
  { output, tensor }: { output: OnnxValue; tensor: OnnxTensorType },
): number | undefined {
  const [, columns] = tensor.shape?.dim ?? [];
  if (tensor.shape?.dim.length === 1) return 1;
  const size = columns === undefined ? undefined : sizeOf(columns);
  if (size !== undefined) return size;
  const producer = graph.node.find((node) => node.output.includes(output.name));
  const labels = producer?.attribute.find(({ name }) => name.startsWith('classlabels_'));
  return labels === undefined ? undefined : Math.max(labels.ints.length, labels.strings.length);
}

/** Some converters write -1 for an unknown size. */
function sizeOf(dimension: OnnxDimension): number | undefined {
  return dimension.value === 'dimValue' && dimension.dimValue >= 0 ? dimension.dimValue : undefined;
}

function available(values: readonly OnnxValue[]): string {
  const names = values.map(({ name }) => `"${name}"`).join(', ');
  return names === '' ? '' : ` (it has ${names})`;
}
