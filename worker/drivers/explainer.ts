import { messageOf } from '../../shared/contract/errors.js';
import type { Cell } from '../../shared/messages/cells.js';
import type { ExplainedRows } from '../../shared/messages/score-job.js';
import { missingRow } from '../feature-row/cell-reading.js';
import { noted } from '../pool/crash-note.js';
import { type Featurizer, goldenRows } from './check-rows.js';
import { type ExactExplainer, type Explainer, type InputRows, logistic } from './contributions.js';
import { exactExplainer } from './exact-model.js';
import { NotASum } from './graph/sum.js';
import { explainByOcclusion, type RunModel } from './occlusion.js';
import { readExactModelInThread } from './read-in-thread.js';
import { type DriverFields, DriverWriter, driverFields, type RecordDrivers } from './record-drivers.js';

/** The records of one part of a chunk, as cells and as input rows. */
export interface ExplainedRecords {
  readonly cells: readonly (readonly Cell[])[];
  readonly rows: Float32Array;
  /** The readings of each record's features. */
  readonly readings: Uint8Array;
  /** Aborts the work, which then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Computes the drivers of a part's records. */
export async function explainPart(
  { explainer, writer }: Explanation,
  records: ExplainedRecords,
): Promise<ExplainedRows> {
  const { cells, rows, signal } = records;
  const contributions = await explainer.contributions({ rows, count: cells.length, signal });
  const written = noted(() => driversOf(writer, contributions, records));
  return { method: explainer.method, fields: writer.fields, ...written };
}

function driversOf(
  writer: DriverWriter,
  contributions: Float64Array,
  { cells, rows, readings }: ExplainedRecords,
): Pick<ExplainedRows, 'drivers' | 'unseen'> {
  const fields = writer.fields.length;
  const features = readings.length / cells.length;
  const width = rows.length / cells.length;
  const drivers: RecordDrivers[] = [];
  const unseen: [number, number][] = [];
  for (const [record, recordCells] of cells.entries()) {
    const ownReadings = readings.subarray(record * features, (record + 1) * features);
    const ofRecord = writer.write({
      contributions: contributions.subarray(record * fields, (record + 1) * fields),
      cells: recordCells,
      readings: ownReadings,
    });
    drivers.push(ofRecord);
    const row = rows.subarray(record * width, (record + 1) * width);
    for (const field of writer.unseen(ofRecord, { row, readings: ownReadings })) unseen.push([record, field]);
  }
  return { drivers, ...(unseen.length > 0 && { unseen }) };
}

/** Largest accepted difference between the probability from contributions and ONNX's. */
const tolerance = 1e-4;

/** The bundle files that an explanation reads. */
export interface ExplainFiles {
  readonly onnx: Uint8Array;
  readonly covers?: Buffer;
  readonly golden?: Buffer;
}

/** A loaded model with its session. */
export interface ExplainedModel extends Featurizer {
  readonly session: { readonly run: RunModel };
}

/** A compiled explanation of a model. */
export interface Explanation {
  readonly explainer: Explainer;
  readonly fields: DriverFields;
  readonly writer: DriverWriter;
  /** Base of the log-odds; undefined for occlusion, whose contributions are not additive. */
  readonly base: number | undefined;
  /** Reason for occlusion instead of an exact method; undefined for an exact method. */
  readonly fallbackReason: string | undefined;
}

/**
 * Compiles the best explanation of a model. A sum of trees or of weighted columns is explained exactly, after 32 rows
 * have reproduced ONNX's output. Any other model is explained by occlusion.
 * @throws what the session throws
 */
export async function compileExplanation(model: ExplainedModel, files: ExplainFiles): Promise<Explanation> {
  const fields = driverFields(model.manifest);
  const common = { fields, writer: new DriverWriter(model.manifest, model.knownFields) };
  try {
    const explainer = await explainExactly(model, files, fields);
    return { ...common, explainer, base: explainer.base, fallbackReason: undefined };
  } catch (error) {
    // Any error: occlusion only needs a running session. If the session failed, occlusion throws again.
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
  const read = await readExactModelInThread({
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
  if (rows === undefined) throw new Error('there are no rows to verify the explanation with');
  const explainer = exactExplainer(read);
  await verify(explainer, model, rows);
  return explainer;
}

function coversOf(bytes: Buffer | undefined): Float32Array | undefined {
  if (bytes === undefined) return undefined;
  return Float32Array.from({ length: bytes.length >>> 2 }, (_, node) => bytes.readFloatLE(4 * node));
}

/** @throws NotASum if the contributions do not add up to ONNX's output */
async function verify(explainer: ExactExplainer, model: ExplainedModel, input: InputRows): Promise<void> {
  const contributions = await explainer.contributions(input);
  const raw = await model.session.run(input.rows, input.count);
  const fields = contributions.length / input.count;
  for (const [row, probability] of raw.entries()) {
    let margin = explainer.base;
    for (let at = row * fields; at < (row + 1) * fields; at += 1) margin += contributions[at] ?? 0;
    const difference = Math.abs(logistic(margin) - probability);
    // `<=` instead of `>`, because NaN must not pass.
    if (difference <= tolerance) continue;
    throw new NotASum(`contributions add up to a probability of ${logistic(margin)}, but ONNX says ${probability}`);
  }
}

async function occlusionOf(model: ExplainedModel, fields: DriverFields): Promise<Explainer> {
  const { session, manifest } = model;
  const run = (rows: Float32Array, count: number) => session.run(rows, count);
  return explainByOcclusion({
    run,
    width: manifest.width,
    baseline: await withProbability(Float32Array.from(referenceRow(model)), run),
    fields: fields.fields.length,
    fieldOfColumn: fields.fieldOfColumn,
  });
}

/** The bundle's reference row or means; without them, the row of a record without any value. */
function referenceRow({ manifest }: ExplainedModel): ArrayLike<number> {
  const { explain } = manifest;
  if (explain?.kind === 'baseline') return explain.values;
  return explain?.kind === 'linear' ? explain.means : missingRow(manifest);
}

/** Replaces NaN by 0 if the model gives no probability for a reference row. */
async function withProbability(
  row: Float32Array,
  run: (rows: Float32Array, count: number) => Promise<Float64Array>,
): Promise<Float32Array> {
  const [probability = Number.NaN] = await run(row, 1);
  return Number.isNaN(probability) ? row.map((value) => (Number.isNaN(value) ? 0 : value)) : row;
}
