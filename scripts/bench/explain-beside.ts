import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkBundle } from '../../shared/bundle/check-bundle.js';
import { readBundle } from '../../shared/bundle/read-bundle.js';
import type { Explanation } from '../../worker/drivers/explainer.js';
import { compileModel } from '../../worker/loaded-model.js';
import type { OnEnd } from '../stack/run-to-end.js';
import { type Spread, spreadOf } from './percentile.js';
import { PythonExplainers, pythonMethods } from './python-explainers.js';

/** Name of the row that holds explaining against Python: it needs Python and a package index, and takes minutes. */
export const besidePythonRowName = 'explain-beside-python';

/** Who explains: the service's workers, or a way of doing it in Python. */
export const explainedBy = ['service', ...pythonMethods] as const;
export type ExplainedBy = (typeof explainedBy)[number];

/** One model, explained by all. */
export interface BesideRow {
  readonly model: string;
  /** Records in one call. */
  readonly records: number;
  /** CPU-milliseconds of one call. */
  readonly cpuMs: Readonly<Record<ExplainedBy, Spread>>;
  /** The largest difference of a field's contribution from what `shap` says. */
  readonly largestDifference: number;
}

/** Rows, and the versions of the Python packages. */
export interface BesidePython {
  readonly rows: readonly BesideRow[];
  readonly versions: Readonly<Record<string, string>>;
}

/** One call with many records, and calls enough with one to be measured. */
const sizes = [
  { records: 1_000, calls: 1 },
  { records: 1, calls: 100 },
] as const;

/** A model as the service has it, and what it explains. */
interface OwnModel {
  readonly explanation: Explanation;
  readonly rows: Float32Array;
  readonly width: number;
  readonly largestDifference: number;
}

/**
 * Explains the same records of the same models with the service's code and with Python, in turns: each repeat measures
 * every one of them once, in CPU time of one thread.
 * @param options `say`: told what is being done; `onEnd`: takes what must be undone
 * @throws Error when there is no Python for it, or when contributions differ from what `shap` says
 */
export async function measureBesidePython(options: {
  readonly repeats: number;
  readonly say: (line: string) => void;
  readonly onEnd: OnEnd;
}): Promise<BesidePython> {
  const { repeats, say, onEnd } = options;
  const folder = await mkdtemp(join(tmpdir(), 'leadscore-explain-'));
  onEnd(() => rm(folder, { recursive: true, force: true }));
  say('training with LightGBM and XGBoost; the first time their packages are installed');
  const python = await PythonExplainers.start(folder);
  onEnd(() => python.stop());
  const rows: BesideRow[] = [];
  for (const model of python.models) {
    const own = await ownModel(folder, model);
    for (const { records, calls } of sizes) {
      say(`${model}, ${records} at once`);
      const times: Record<ExplainedBy, number[]> = { service: [], pred_contrib: [], shap: [], shap_own: [] };
      for (let repeat = 0; repeat < repeats; repeat += 1) {
        times.service.push(await ownCpuMs(own, { records, calls }));
        for (const method of pythonMethods)
          times[method].push(await python.cpuMsOf({ model, method, records, calls }));
      }
      const cpuMs = Object.fromEntries(explainedBy.map((by) => [by, spreadOf(times[by])]));
      rows.push({
        model,
        records,
        cpuMs: cpuMs as Record<ExplainedBy, Spread>,
        largestDifference: own.largestDifference,
      });
    }
  }
  return { rows, versions: python.versions };
}

async function ownModel(folder: string, name: string): Promise<OwnModel> {
  const bundle = checkBundle(await readBundle(join(folder, name)));
  const { manifest, onnx, covers } = bundle;
  const model = await compileModel(manifest, onnx, {
    explainFiles: async () => ({ onnx, ...(covers === undefined ? {} : { covers }) }),
  });
  const explanation = await model.explanation();
  if (explanation.explainer.method !== 'tree')
    throw new Error(`${name} is not explained by its trees: ${explanation.fallbackReason}`);
  const { width } = manifest;
  const rows = floatsOf(await readFile(join(folder, 'rows.f32')));
  const byShap = doublesOf(await readFile(join(folder, name, 'shap.f64')));
  const contributions = await explanation.explainer.contributions({ rows, count: rows.length / width });
  const own = { explanation, rows, width };
  return { ...own, largestDifference: largestDifference(contributions, byShap, own) };
}

/** Of all fields of all rows; `shap` tells of columns, whose sum is their field's. */
function largestDifference(
  contributions: Float64Array,
  byShap: Float64Array,
  { explanation: { fields }, width }: Pick<OwnModel, 'explanation' | 'width'>,
): number {
  const each = fields.fields.length;
  const left = Float64Array.from(contributions);
  for (const [at, value] of byShap.entries()) {
    const field = Math.floor(at / width) * each + (fields.fieldOfColumn[at % width] ?? 0);
    left[field] = (left[field] ?? 0) - value;
  }
  return left.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}

async function ownCpuMs(
  { explanation, rows, width }: OwnModel,
  { records, calls }: { readonly records: number; readonly calls: number },
): Promise<number> {
  const some = { rows: rows.subarray(0, records * width), count: records };
  await explanation.explainer.contributions(some);
  const before = process.cpuUsage();
  for (let call = 0; call < calls; call += 1) await explanation.explainer.contributions(some);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / calls;
}

const floatsOf = (bytes: Buffer): Float32Array =>
  Float32Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(4 * at));

const doublesOf = (bytes: Buffer): Float64Array =>
  Float64Array.from({ length: bytes.length / 8 }, (_, at) => bytes.readDoubleLE(8 * at));
