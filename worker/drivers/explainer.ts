import { messageOf } from '../../shared/errors.js';
import { missingRow } from '../feature-row/missing-value.js';
import type { InferenceSession } from '../inference-session.js';
import { type Featurizer, goldenRows } from './check-rows.js';
import { type ExactExplainer, type Explainer, type InputRows, logistic } from './contributions.js';
import { exactExplainer } from './exact-model.js';
import { NotASum } from './graph/sum.js';
import { explainByOcclusion } from './occlusion.js';
import { readExactModelAside } from './read-in-thread.js';
import { type DriverFields, DriverWriter, driverFields } from './record-drivers.js';

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
  { fields, fieldOfColumn }: DriverFields,
): Promise<ExactExplainer> {
  const golden = goldenRows(model, files.golden);
  const read = await readExactModelAside({
    onnx: files.onnx,
    covers: coversOf(files.covers),
    reference: model.manifest.onnx,
    width: model.manifest.width,
    fields: fields.length,
    fieldOfColumn,
    means: referenceRow(model),
    needsRows: golden === undefined,
  });
  const rows = golden ?? read.drawn;
  if (rows === undefined) throw new Error('there are no rows to check the model on');
  const explainer = exactExplainer(read);
  await prove(explainer, model, rows);
  return explainer;
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
