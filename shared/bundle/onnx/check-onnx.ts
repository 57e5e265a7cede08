import { createHash } from 'node:crypto';
import { BundleError, refuseIfAny } from '../bundle-error.js';
import { sizeText } from '../bundle-files.js';
import { bundleLimits, irVersions, opsetVersions } from '../limits.js';
import type { Manifest } from '../manifest/manifest.js';
import { domainName, isAllowedOperator, operatorRemedy } from './allowed-operators.js';
import { graphProblems } from './graph-problems.js';
import {
  type OnnxAttribute,
  type OnnxGraph,
  type OnnxModel,
  type OnnxNode,
  type OnnxSparseTensor,
  type OnnxTensor,
  onnxString,
  readOnnxModel,
} from './onnx-model.js';
import { signatureProblems } from './onnx-signature.js';

/** Attributes that make an operator read or write strings, without class labels (see `checkOnnx`). */
const stringAttributes = new Set(['keys_strings', 'values_strings', 'cats_strings', 'value_string', 'value_strings']);
/** `TensorProto.DataLocation.EXTERNAL` */
const externalLocation = 1;

/**
 * Checks a bundle's ONNX file without running it:
 * - the digest and the format;
 * - the graph: allowed operators only, no strings, no subgraphs or functions, no data in other files;
 * - the input and the output, which must match the manifest;
 * - what the graph says about its answers: see `graphProblems`.
 *
 * A classifier with string labels passes: workers never ask for the label output.
 * @throws BundleError naming the file and every problem
 */
export function checkOnnx(
  bytes: Buffer,
  { manifest, limitBytes = bundleLimits.memberBytes }: { manifest: Manifest; limitBytes?: number },
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
    throw new BundleError(
      member,
      `has the SHA-256 ${sha256}, but onnx.sha256 is ${manifest.onnx.sha256}: export the bundle again`,
    );
  }
  const model = readOnnxModel(bytes, member);
  refuseIfAny(member, [
    ...versionProblems(model),
    ...extensionProblems(model),
    ...operatorProblems(model.graph),
    ...tensorProblems(model.graph),
    ...signatureProblems(model.graph, manifest),
  ]);
  refuseIfAny(member, graphProblems(model.graph, manifest));
  return model;
}

function versionProblems(model: OnnxModel): string[] {
  const problems: string[] = [];
  const { min: oldest, max: newest, advised } = irVersions;
  if (model.irVersion < oldest || model.irVersion > newest) {
    const remedy = `set \`ir_version = ${advised}\` on the model, and save it again`;
    problems.push(`has the IR version ${model.irVersion}, outside ${oldest}..${newest}: ${remedy}`);
  }
  const used = new Set(model.graph.node.map((node) => domainName(node.domain)));
  for (const [domain, { min, max, advised: target }] of opsetVersions) {
    const imports = model.opsetImport.filter((opset) => domainName(opset.domain) === domain);
    if (imports.length === 0 && used.has(domain))
      problems.push(`uses operators of "${domain}" without importing a version of that operator set`);
    const outside = imports.find(({ version }) => version > max || version < (used.has(domain) ? min : 1));
    if (outside !== undefined) {
      problems.push(
        `uses version ${outside.version} of the operator set "${domain}", outside ${min}..${max}: convert the model for version ${target}`,
      );
    }
  }
  return problems;
}

function extensionProblems(model: OnnxModel): string[] {
  const problems: string[] = [];
  const [first] = model.functions;
  if (first !== undefined) {
    problems.push(`defines the function "${first.name}", but functions within a model are not allowed`);
  }
  if (model.trainingInfo.length > 0)
    problems.push('holds training information, which is not allowed: export the model for inference');
  return problems;
}

function operatorProblems(graph: OnnxGraph): string[] {
  return [...new Set(graph.node.flatMap(nodeProblems))];
}

function nodeProblems(node: OnnxNode): string[] {
  const domain = domainName(node.domain);
  const operator = `operator "${node.opType}" of domain "${domain}"`;
  if (!isAllowedOperator(domain, node.opType)) {
    return [`${operator} is not allowed: ${operatorRemedy(domain, node.opType)}`];
  }
  const problems: string[] = [];
  for (const attribute of node.attribute) {
    if (attribute.g !== null || attribute.graphs.length > 0) {
      problems.push(`${operator} has a subgraph, which is not allowed`);
    }
    if (stringAttributes.has(attribute.name) && (attribute.strings.length > 0 || attribute.s !== '')) {
      problems.push(`${operator} processes strings ("${attribute.name}"), which is not allowed`);
    }
    if (node.opType === 'Cast' && attribute.name === 'to' && attribute.i === onnxString) {
      problems.push(`${operator} casts to strings, which is not allowed`);
    }
  }
  return problems;
}

function tensorProblems(graph: OnnxGraph): string[] {
  const problems: string[] = [];
  for (const { tensor, name } of storedTensors(graph)) {
    if (tensor.dataLocation === externalLocation || tensor.externalData.length > 0) {
      const file = tensor.externalData.find(({ key }) => key === 'location')?.value ?? '';
      problems.push(`${name} keeps its data in another file ("${file}"): save the model with its data inside`);
    }
    if (tensor.dataType === onnxString || tensor.stringData.length > 0) {
      problems.push(`${name} is a tensor of strings, which is not allowed`);
    }
  }
  return problems;
}

interface NamedTensor {
  readonly tensor: OnnxTensor;
  /** For a message: `initializer "W"`, `attribute "value" of Constant`. */
  readonly name: string;
}

/** Yields every tensor of a graph and its subgraphs: initializers, sparse ones, and attributes of nodes. */
function* storedTensors(graph: OnnxGraph): Generator<NamedTensor> {
  for (const tensor of graph.initializer) yield { tensor, name: `initializer "${tensor.name}"` };
  for (const sparse of graph.sparseInitializer) yield* sparseParts(sparse, 'sparse initializer');
  for (const node of graph.node) {
    for (const attribute of node.attribute) {
      yield* attributeTensors(attribute, `attribute "${attribute.name}" of ${node.opType}`);
    }
  }
}

function* attributeTensors(attribute: OnnxAttribute, name: string): Generator<NamedTensor> {
  if (attribute.t !== null) yield { tensor: attribute.t, name };
  for (const tensor of attribute.tensors) yield { tensor, name };
  if (attribute.sparseTensor !== null) yield* sparseParts(attribute.sparseTensor, name);
  for (const sparse of attribute.sparseTensors) yield* sparseParts(sparse, name);
  if (attribute.g !== null) yield* storedTensors(attribute.g);
  for (const graph of attribute.graphs) yield* storedTensors(graph);
}

function* sparseParts(sparse: OnnxSparseTensor, name: string): Generator<NamedTensor> {
  if (sparse.values !== null) yield { tensor: sparse.values, name: `${name} "${sparse.values.name}"` };
  if (sparse.indices !== null) yield { tensor: sparse.indices, name: `the indices of ${name}` };
}
