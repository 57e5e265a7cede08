import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { readBundle } from '../../../shared/bundle/archive/read-bundle.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { childEnvironment } from '../../../shared/config/config.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { pythonVenv } from '../../../test/support/python-venv.js';
import { compileModel } from '../../../worker/models/loaded-model.js';
import { type OnEnd, temporaryDirectory } from '../../servers/run-to-end.js';
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

/** A row under its names in `--json`: median CPU-milliseconds of one call. */
interface BesideRow {
  readonly model: string;
  /** Records per call. */
  readonly records: number;
  readonly cpu_ms: ByMethod;
  readonly times_the_service: ByMethod;
  /** Between a field's contributions in the service and in `shap`. */
  readonly largest_difference: number;
}

const short = (ms: number): string => (ms < 10 ? ms.toFixed(2) : ms.toFixed(0));
const beside = (method: Method) => (row: BesideRow) =>
  `${short(row.cpu_ms[method])} (${row.times_the_service[method].toFixed(1)}x)`;
const columns: Columns<BesideRow> = [
  ['CPU-ms of one call', ({ model }) => model],
  ['records', ({ records }) => String(records)],
  ['service', ({ cpu_ms }) => short(cpu_ms.service)],
  ['pred_contrib', beside('pred_contrib')],
  ['shap', beside('shap')],
  ["shap's own code", beside('shap_own')],
];

/**
 * Explains the same records of the same models with the service's code and with Python. Each repeat measures every
 * method once, in CPU time of one thread.
 * @throws Error without a suitable Python, or if a model is not explained by its trees
 */
export async function besidePythonSection({ repeats, say, onEnd }: SectionOptions): Promise<ReportSection> {
  const folder = await temporaryDirectory(onEnd, 'explain');
  say('training with LightGBM and XGBoost; the first run installs their packages');
  const { ask, models, versions } = await startPython(folder, onEnd);
  const rows: BesideRow[] = [];
  for (const model of models) {
    const service = await serviceModel(folder, model);
    for (const size of sizes) {
      say(`${model}, ${size.records} at once`);
      const times: Record<Method, number[]> = { service: [], pred_contrib: [], shap: [], shap_own: [] };
      for (let repeat = 0; repeat < repeats; repeat += 1)
        for (const method of methods)
          times[method].push(await (method === 'service' ? service.cpuMs(size) : ask({ model, method, ...size })));
      const medianOf = (method: Method): number => spreadOf(times[method]).median;
      rows.push({
        ...{ model, records: size.records },
        cpu_ms: byMethod((method) => Number(medianOf(method).toFixed(3))),
        times_the_service: byMethod((method) => Number((medianOf(method) / medianOf('service')).toFixed(2))),
        largest_difference: service.maxDifference,
      });
    }
  }
  const largest = Math.max(...rows.map((row) => row.largest_difference)).toExponential(1);
  const text =
    `${reportTable(columns, rows)}\n` +
    `LightGBM ${versions.lightgbm}, XGBoost ${versions.xgboost}, shap ${versions.shap}, one thread each. ` +
    `The contributions of a field differ from shap's by at most ${largest}.`;
  return { document: { versions, rows }, text };
}

const byMethod = (value: (method: Method) => number): ByMethod =>
  Object.fromEntries(methods.map((method) => [method, value(method)])) as ByMethod;

async function serviceModel(folder: string, name: string) {
  const { manifest, onnx, covers } = checkBundle(await readBundle(join(folder, name)));
  const explainFiles = async () => ({ onnx, ...(covers === undefined ? {} : { covers }) });
  const { explainer, fields, fallbackReason } = await (
    await compileModel(manifest, onnx, { explainFiles })
  ).explanation();
  if (explainer.method !== 'tree') throw new Error(`${name} is not explained by its trees: ${fallbackReason}`);
  const { width } = manifest;
  const rowBytes = await readFile(join(folder, 'rows.f32'));
  const shapBytes = await readFile(join(folder, name, 'shap.f64'));
  const rows = Float32Array.from({ length: rowBytes.length / 4 }, (_, at) => rowBytes.readFloatLE(4 * at));
  const differences = await explainer.contributions({ rows, count: rows.length / width });
  // shap has one value per column; a field's contribution is the sum of its columns.
  for (let at = 0; at < shapBytes.length / 8; at += 1) {
    const field = Math.floor(at / width) * fields.fields.length + (fields.fieldOfColumn[at % width] ?? 0);
    differences[field] = (differences[field] ?? 0) - shapBytes.readDoubleLE(8 * at);
  }
  const maxDifference = differences.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
  const cpuMs = async ({ records, calls }: (typeof sizes)[number]): Promise<number> => {
    const some = { rows: rows.subarray(0, records * width), count: records };
    await explainer.contributions(some);
    return await callCpuMs(calls, () => explainer.contributions(some));
  };
  return { maxDifference, cpuMs };
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
  const child = spawn(venv.program('python'), [projectFile('scripts/bench/explain/explain_beside.py'), folder], {
    env: childEnvironment({ PYTHONPATH: projectFile('scripts/export'), PYTHONDONTWRITEBYTECODE: '1' }),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onEnd(async () => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async <Answer>(): Promise<Answer> => {
    const { done, value } = await lines.next();
    if (done === true) throw new Error('Python ended; its error is above');
    return JSON.parse(value);
  };
  type Ready = { readonly models: readonly string[]; readonly versions: Readonly<Record<string, string>> };
  const { models, versions } = await next<Ready>();
  const ask = async (request: object): Promise<number> => {
    child.stdin.write(`${JSON.stringify(request)}\n`);
    return (await next<{ readonly cpu_ms: number }>()).cpu_ms;
  };
  return { models, versions, ask };
}
