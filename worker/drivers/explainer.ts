import { readOnnxModel } from '../../shared/bundle/onnx-model.js';
import { messageOf } from '../../shared/errors.js';
import { missingRow } from '../feature-row/missing-row.js';
import type { InferenceSession } from '../inference-session.js';
import { drawnRows, type Featurizer, goldenRows } from './check-rows.js';
import type { ExactExplainer, Explainer, InputRows } from './contributions.js';
import { type DriverFields, driverFields } from './driver-fields.js';
import { graphColumns } from './graph-columns.js';
import { explainLinear } from './linear-contributions.js';
import { logistic } from './log-odds.js';
import { NotASum } from './not-a-sum.js';
import { explainByOcclusion } from './occlusion.js';
import { DriverWriter } from './record-drivers.js';
import type { Sum } from './sum.js';
import { explainTrees } from './tree-contributions.js';

/** How far the probability that contributions add up to may be from what ONNX says. */
const tolerance = 1e-4;

/** The members of a bundle that explaining needs. */
export interface ExplainFiles {
  readonly onnx: Uint8Array;
  readonly covers?: Buffer;
  readonly golden?: Buffer;
}

/** A model that runs. */
export interface ExplainedModel extends Featurizer {
  readonly session: Pick<InferenceSession, 'run'>;
}

/** How a model is explained. */
export interface Explanation {
  readonly explainer: Explainer;
  readonly fields: DriverFields;
  readonly writer: DriverWriter;
  /** What contributions and log-odds start from; undefined for occlusion, whose contributions do not add up. */
  readonly base: number | undefined;
  /** Why it is occlusion, and not the exact method for trees or linear models; undefined when it is exact. */
  readonly fallbackReason: string | undefined;
}

/**
 * Finds the best way to explain a model: exactly for a sum of trees or of weighted columns that is proved on 32 rows to
 * give what ONNX gives; else by occlusion.
 * @throws what the session throws
 */
export async function compileExplanation(model: ExplainedModel, files: ExplainFiles): Promise<Explanation> {
  const fields = driverFields(model.manifest);
  const common = { fields, writer: new DriverWriter(model.manifest, model.knownFields) };
  try {
    const explainer = await explainExactly(model, files, fields);
    return { ...common, explainer, base: explainer.base, fallbackReason: undefined };
  } catch (error) {
    // Whatever it was: occlusion needs nothing but a model that runs, and if that is what failed it fails again.
    const explainer = await occlusionOf(model, fields);
    return { ...common, explainer, base: undefined, fallbackReason: messageOf(error) };
  }
}

async function explainExactly(
  model: ExplainedModel,
  files: ExplainFiles,
  fields: DriverFields,
): Promise<ExactExplainer> {
  const { sum, isProbability } = outputSum(model, files.onnx);
  const { width } = model.manifest;
  const common = {
    sum,
    isProbability,
    width,
    fields: fields.fields.length,
    fieldOfColumn: fields.fieldOfColumn,
  };
  if (sum.trees.length > 0 && sum.weights.size > 0) throw new NotASum('trees and weighted columns together');
  if (sum.trees.length === 0) {
    const means = referenceRow(model);
    const explainer = explainLinear({ ...common, means });
    await prove(explainer, model, goldenRows(model, files.golden) ?? drawnRows(sum, { width, means }));
    return explainer;
  }
  const explainer = await explainTrees({ ...common, covers: coversOf(files.covers) });
  const rows = goldenRows(model, files.golden) ?? drawnRows(sum, { width, means: undefined });
  await prove(explainer, model, rows);
  return explainer;
}

/** The positive class's output as a sum: log-odds, or a probability. */
function outputSum(
  { manifest: { onnx, width } }: ExplainedModel,
  file: Uint8Array,
): { sum: Sum; isProbability: boolean } {
  const { graph } = readOnnxModel(file);
  const columns = graphColumns(graph, { output: onnx.output, input: onnx.input, width });
  const column = columns.length === 1 ? columns[0] : columns[onnx.positive_class];
  if (column === undefined) throw new NotASum('the output lacks the column of the positive class');
  if (onnx.kind === 'logit' && column.isLogistic)
    throw new NotASum('the output is said to be a logit, but is a probability');
  return { sum: column.sum, isProbability: onnx.kind === 'probability' && !column.isLogistic };
}

function coversOf(bytes: Buffer | undefined): Float32Array | undefined {
  if (bytes === undefined) return undefined;
  return Float32Array.from({ length: bytes.length >>> 2 }, (_, node) => bytes.readFloatLE(4 * node));
}

/** Throws NotASum when the contributions do not add up to what ONNX says. */
async function prove(explainer: ExactExplainer, model: ExplainedModel, input: InputRows): Promise<void> {
  const contributions = await explainer.contributions(input);
  const raw = await model.session.run(input.rows, input.count);
  const fields = contributions.length / input.count;
  for (const [row, probability] of raw.entries()) {
    let margin = explainer.base;
    for (let at = row * fields; at < (row + 1) * fields; at += 1) margin += contributions[at] ?? 0;
    const difference = Math.abs(logistic(margin) - probability);
    // Not `>` turned round: a NaN must not pass.
    if (difference <= tolerance) continue;
    throw new NotASum(
      `contributions add up to a probability of ${logistic(margin)}, but ONNX says ${probability}`,
    );
  }
}

async function occlusionOf(model: ExplainedModel, fields: DriverFields): Promise<Explainer> {
  const { session, manifest } = model;
  const run = (rows: Float32Array, count: number) => session.run(rows, count);
  return explainByOcclusion({
    run,
    width: manifest.width,
    baseline: await runnable(Float32Array.from(referenceRow(model)), run),
    fields: fields.fields.length,
    fieldOfColumn: fields.fieldOfColumn,
  });
}

/** The bundle's reference row or means; without them, a record of which every value is missing. */
function referenceRow({ manifest }: ExplainedModel): ArrayLike<number> {
  const { explain } = manifest;
  if (explain?.kind === 'baseline') return explain.values;
  return explain?.kind === 'linear' ? explain.means : missingRow(manifest);
}

/** A reference row must have a probability: where it has none, NaN gives way to 0. */
async function runnable(
  row: Float32Array,
  run: (rows: Float32Array, count: number) => Promise<Float64Array>,
): Promise<Float32Array> {
  const [probability = Number.NaN] = await run(row, 1);
  return Number.isNaN(probability) ? row.map((value) => (Number.isNaN(value) ? 0 : value)) : row;
}
