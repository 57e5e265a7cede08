import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { readBundle } from '../../../shared/bundle/archive/read-bundle.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { childEnvironment } from '../../../shared/config/config.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { pythonVenv } from '../../../test/support/python-venv.js';
import type { Explanation } from '../../../worker/drivers/explainer.js';
import { compileModel } from '../../../worker/models/loaded-model.js';
import type { OnEnd } from '../../servers/run-to-end.js';
import { spreadOf } from '../report/percentile.js';
import { type Columns, type ReportSection, reportTable, type SectionOptions } from '../report/tables.js';
import { callCpuMs } from './explain.js';

/** Compares explaining with Python packages. It needs Python and a package index, and takes minutes. */
export const besidePythonRowName = 'explain-beside-python';

/** This code; the trainer's own contributions; `shap`, which calls these by default; and `shap` with its own C code. */
const methods = ['service', 'pred_contrib', 'shap', 'shap_own'] as const;
type Method = (typeof methods)[number];
type ByMethod = Readonly<Record<Method, number>>;

/** One large call, and enough small ones to be measurable. */
const sizes = [
  { records: 1_000, calls: 1 },
  { records: 1, calls: 100 },
] as const;
const installTimeoutMs = 600_000;

interface BesideRow {
  readonly model: string;
  /** Records per call. */
  readonly records: number;
  /** Median CPU-milliseconds of one call. */
  readonly cpuMs: ByMethod;
  /** Largest difference between a field's contributions in the service and in `shap`. */
  readonly maxDifference: number;
}

interface ServiceModel {
  readonly explanation: Explanation;
  readonly rows: Float32Array;
  readonly width: number;
  readonly maxDifference: number;
}

/**
 * Explains the same records of the same models with the service's code and with Python. Each repeat measures every
 * method once, in CPU time of one thread.
 * @throws Error without a suitable Python, or if a model is not explained by its trees
 */
export async function besidePythonSection({ repeats, say, onEnd }: SectionOptions): Promise<ReportSection> {
  const folder = await mkdtemp(join(tmpdir(), 'leadscore-explain-'));
  onEnd(() => rm(folder, { recursive: true, force: true }));
  say('training with LightGBM and XGBoost; the first run installs their packages');
  const { askCpuMs, models, versions } = await startPython(folder, onEnd);
  const rows: BesideRow[] = [];
  for (const model of models) {
    const service = await serviceModel(folder, model);
    for (const size of sizes) {
      say(`${model}, ${size.records} at once`);
      const times: (readonly [Method, number])[] = [];
      for (let repeat = 0; repeat < repeats; repeat += 1)
        for (const method of methods) {
          const isOurs = method === 'service';
          times.push([method, await (isOurs ? serviceCpuMs(service, size) : askCpuMs({ model, method, ...size }))]);
        }
      const cpuMs = byMethod((method) => spreadOf(times.flatMap(([name, ms]) => (name === method ? ms : []))).median);
      rows.push({ model, records: size.records, cpuMs, maxDifference: service.maxDifference });
    }
  }
  return sectionOf(rows, versions);
}

const byMethod = (value: (method: Method) => number): ByMethod =>
  Object.fromEntries(methods.map((method) => [method, value(method)])) as ByMethod;

function sectionOf(rows: readonly BesideRow[], versions: Readonly<Record<string, string>>): ReportSection {
  const ratio = ({ cpuMs }: BesideRow, method: Method): number => cpuMs[method] / cpuMs.service;
  const beside = (method: Method) => (row: BesideRow) =>
    `${short(row.cpuMs[method])} (${ratio(row, method).toFixed(1)}x)`;
  const columns: Columns<BesideRow> = [
    ['CPU-ms of one call', ({ model }) => model],
    ['records', ({ records }) => String(records)],
    ['service', ({ cpuMs }) => short(cpuMs.service)],
    ['pred_contrib', beside('pred_contrib')],
    ['shap', beside('shap')],
    ["shap's own code", beside('shap_own')],
  ];
  const largest = Math.max(...rows.map(({ maxDifference }) => maxDifference)).toExponential(1);
  const documents = rows.map((row) => ({
    model: row.model,
    records: row.records,
    cpu_ms: byMethod((method) => Number(row.cpuMs[method].toFixed(3))),
    times_the_service: byMethod((method) => Number(ratio(row, method).toFixed(2))),
    largest_difference: row.maxDifference,
  }));
  return {
    document: { versions, rows: documents },
    text:
      `${reportTable(columns, rows)}\n` +
      `LightGBM ${versions.lightgbm}, XGBoost ${versions.xgboost}, shap ${versions.shap}, one thread each. ` +
      `The contributions of a field differ from shap's by at most ${largest}.`,
  };
}

const short = (ms: number): string => (ms < 10 ? ms.toFixed(2) : ms.toFixed(0));

async function serviceModel(folder: string, name: string): Promise<ServiceModel> {
  const { manifest, onnx, covers } = checkBundle(await readBundle(join(folder, name)));
  const model = await compileModel(manifest, onnx, {
    explainFiles: async () => ({ onnx, ...(covers === undefined ? {} : { covers }) }),
  });
  const explanation = await model.explanation();
  if (explanation.explainer.method !== 'tree')
    throw new Error(`${name} is not explained by its trees: ${explanation.fallbackReason}`);
  const { width } = manifest;
  const rowBytes = await readFile(join(folder, 'rows.f32'));
  const shapBytes = await readFile(join(folder, name, 'shap.f64'));
  const rows = Float32Array.from({ length: rowBytes.length / 4 }, (_, at) => rowBytes.readFloatLE(4 * at));
  const differences = await explanation.explainer.contributions({ rows, count: rows.length / width });
  // shap has one value per column; a field's contribution is the sum of its columns.
  const { fields, fieldOfColumn } = explanation.fields;
  for (let at = 0; at < shapBytes.length / 8; at += 1) {
    const field = Math.floor(at / width) * fields.length + (fieldOfColumn[at % width] ?? 0);
    differences[field] = (differences[field] ?? 0) - shapBytes.readDoubleLE(8 * at);
  }
  const maxDifference = differences.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
  return { explanation, rows, width, maxDifference };
}

async function serviceCpuMs(
  { explanation, rows, width }: ServiceModel,
  { records, calls }: (typeof sizes)[number],
): Promise<number> {
  const some = { rows: rows.subarray(0, records * width), count: records };
  await explanation.explainer.contributions(some);
  return await callCpuMs(calls, () => explanation.explainer.contributions(some));
}

/**
 * Starts `explain_beside.py`, which trains the models into the folder and then answers each request with a line.
 * @throws Error without a suitable Python, or when Python ends
 */
async function startPython(folder: string, onEnd: OnEnd) {
  const venv = await pythonVenv({
    name: 'bench',
    requirementsFile: 'scripts/bench/explain/requirements.txt',
    minMinor: 11,
    pipOptions: ['--no-deps', '--no-compile', '--only-binary=:all:'],
    installLimitMs: installTimeoutMs,
  });
  if ('reason' in venv) throw new Error(venv.reason);
  const script = projectFile('scripts/bench/explain/explain_beside.py');
  const child = spawn(venv.program('python'), [script, folder], {
    env: childEnvironment({ PYTHONPATH: projectFile('scripts/export'), PYTHONDONTWRITEBYTECODE: '1' }),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onEnd(async () => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => {
    const { done, value } = await lines.next();
    if (done === true) throw new Error('Python ended; its error is above');
    return JSON.parse(value);
  };
  type Ready = { readonly models: readonly string[]; readonly versions: Readonly<Record<string, string>> };
  const ready = (await next()) as Ready;
  const askCpuMs = async (request: object): Promise<number> => {
    child.stdin.write(`${JSON.stringify(request)}\n`);
    return ((await next()) as { readonly cpu_ms: number }).cpu_ms;
  };
  return { ...ready, askCpuMs };
}
