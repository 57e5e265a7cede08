import { createHash } from 'node:crypto';
import { BundleError, refuseIfAny } from './bundle-error.js';
import { ONNX_LIMIT_BYTES, sizeText } from './bundle-limits.js';
import type { Manifest } from './manifest.js';
import { type OnnxGraph, type OnnxModel, type OnnxNode, readOnnxModel } from './onnx-model.js';
import { domainName, HIGHEST_IR_VERSION, isAllowedOperator, OPSET_VERSIONS } from './onnx-operators.js';
import { signatureProblems } from './onnx-signature.js';
import { storedTensors } from './onnx-tensors.js';
import { ONNX_STRING } from './onnx-types.js';

/** Attributes that make an operator take or give texts. Class labels are not among them: see `checkOnnx`. */
const TEXT_ATTRIBUTES = new Set([
  'keys_strings',
  'values_strings',
  'cats_strings',
  'value_string',
  'value_strings',
]);
const EXTERNAL = 1;

/**
 * Checks a bundle's ONNX file without running it: the digest, the format, that the graph holds nothing but allowed
 * operators, no text, no graphs or functions within it and no data outside it, and that its input and output are
 * those that the manifest promises. A classifier whose labels are texts passes: the labels are an output that is
 * never asked for.
 * @param bytes the file
 * @param manifest the checked manifest
 * @param limitBytes the largest file accepted
 * @returns the model as read
 * @throws BundleError naming the file and what is wrong
 */
export function checkOnnx(
  bytes: Buffer,
  { manifest, limitBytes = ONNX_LIMIT_BYTES }: { manifest: Manifest; limitBytes?: number },
): OnnxModel {
  const member = manifest.onnx.file;
  if (bytes.length > limitBytes) {
    throw new BundleError(
      member,
      `is ${sizeText(bytes.length)}, above the limit of ${sizeText(limitBytes)} for a model`,
    );
  }
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (sha256 !== manifest.onnx.sha256.toLowerCase()) {
    throw new BundleError(member, `has the SHA-256 ${sha256}, but the manifest says ${manifest.onnx.sha256}`);
  }
  const model = readOnnxModel(bytes, member);
  refuseIfAny(member, [
    ...versionProblems(model),
    ...extensionProblems(model),
    ...operatorProblems(model.graph),
    ...tensorProblems(model.graph),
    ...signatureProblems(model.graph, manifest),
  ]);
  return model;
}

function versionProblems(model: OnnxModel): string[] {
  const problems: string[] = [];
  if (model.irVersion < 3 || model.irVersion > HIGHEST_IR_VERSION) {
    problems.push(`has the IR version ${model.irVersion}, outside 3..${HIGHEST_IR_VERSION}`);
  }
  const used = new Set(model.graph.node.map((node) => domainName(node.domain)));
  for (const [domain, { lowest, highest }] of OPSET_VERSIONS) {
    const imports = model.opsetImport.filter((opset) => domainName(opset.domain) === domain);
    if (imports.length === 0 && used.has(domain))
      problems.push(`uses "${domain}" without saying which version`);
    const outside = imports.find(
      ({ version }) => version > highest || version < (used.has(domain) ? lowest : 1),
    );
    if (outside !== undefined) {
      problems.push(
        `uses version ${outside.version} of the operator set "${domain}", outside ${lowest}..${highest}`,
      );
    }
  }
  return problems;
}

function extensionProblems(model: OnnxModel): string[] {
  const problems: string[] = [];
  const [first] = model.functions;
  if (first !== undefined) {
    problems.push(`defines the function "${first.name}"; functions of a model's own are not allowed`);
  }
  if (model.trainingInfo.length > 0) problems.push('holds training information, which is not allowed');
  return problems;
}

function operatorProblems(graph: OnnxGraph): string[] {
  return [...new Set(graph.node.flatMap(nodeProblems))];
}

function nodeProblems(node: OnnxNode): string[] {
  const domain = domainName(node.domain);
  const operator = `operator "${node.opType}" of domain "${domain}"`;
  if (!isAllowedOperator(domain, node.opType)) {
    const hint = node.opType === 'ZipMap' ? '; convert the model with the option zipmap=False' : '';
    return [`${operator} is not allowed${hint}`];
  }
  const problems: string[] = [];
  for (const attribute of node.attribute) {
    if (attribute.g !== null || attribute.graphs.length > 0) {
      problems.push(`${operator} carries a graph of its own, which is not allowed`);
    }
    if (TEXT_ATTRIBUTES.has(attribute.name) && (attribute.strings.length > 0 || attribute.s !== '')) {
      problems.push(`${operator} works on texts ("${attribute.name}"), which is not allowed`);
    }
    if (node.opType === 'Cast' && attribute.name === 'to' && attribute.i === ONNX_STRING) {
      problems.push(`${operator} makes texts, which is not allowed`);
    }
  }
  return problems;
}

function tensorProblems(graph: OnnxGraph): string[] {
  const problems: string[] = [];
  for (const { tensor, place } of storedTensors(graph)) {
    if (tensor.dataLocation === EXTERNAL || tensor.externalData.length > 0) {
      const file = tensor.externalData.find(({ key }) => key === 'location')?.value ?? '';
      problems.push(`${place} keeps its data in another file ("${file}"), which is not allowed`);
    }
    if (tensor.dataType === ONNX_STRING || tensor.stringData.length > 0) {
      problems.push(`${place} is a tensor of texts, which is not allowed`);
    }
  }
  return problems;
}
