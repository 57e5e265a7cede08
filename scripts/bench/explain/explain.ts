import { explainTrees } from '../../../worker/drivers/trees/tree-contributions.js';
import { type Spread, spreadOf } from '../report/percentile.js';
import { type Columns, type ReportSection, reportTable, type SectionOptions, withRange } from '../report/tables.js';
import { type ExplainModelSize, explainModel, explainRows } from './explain-model.js';

/** CPU-milliseconds of explaining with one model in this process, under their names in `--json`. */
interface ExplainRow extends ExplainModelSize {
  readonly name: string;
  /** Once for a model version. */
  readonly prepare_cpu_ms: number;
  readonly cpu_ms_per_1000: Spread;
  /** One record alone. */
  readonly cpu_ms_of_one: Spread;
}

const sizes: Readonly<Record<string, ExplainModelSize>> = {
  'explain-100-trees': { trees: 100, depth: 6 },
  'explain-500-trees': { trees: 500, depth: 6 },
};
export const explainRowNames: readonly string[] = Object.keys(sizes);

const manyRecords = 1_000;
const singles = 200;

const columns: Columns<ExplainRow> = [
  ['CPU-milliseconds', ({ name }) => name],
  ['prepare', (row) => row.prepare_cpu_ms.toFixed(0)],
  ['1000 records', (row) => withRange(row.cpu_ms_per_1000, (ms) => ms.toFixed(0))],
  ['one record', (row) => withRange(row.cpu_ms_of_one, (ms) => ms.toFixed(2))],
];

/** @param names some of `explainRowNames` */
export async function explainSection(
  names: readonly string[],
  { repeats }: Pick<SectionOptions, 'repeats'>,
): Promise<ReportSection> {
  const rows: ExplainRow[] = [];
  for (const name of names) {
    const size = sizes[name];
    if (size !== undefined) rows.push({ name, ...size, ...(await measure(size, repeats)) });
  }
  return { document: rows, text: reportTable(columns, rows) };
}

async function measure(size: ExplainModelSize, repeats: number) {
  const started = process.cpuUsage();
  const explainer = await explainTrees(explainModel(size));
  const prepareCpuMs = cpuMsSince(started);
  const timed = async (count: number, calls: number): Promise<Spread> => {
    const input = { rows: explainRows(count), count };
    const measured: number[] = [];
    for (let repeat = 0; repeat <= repeats; repeat += 1)
      measured.push(await callCpuMs(calls, () => explainer.contributions(input)));
    return spreadOf(measured.slice(1)); // the first repeat warms up
  };
  return {
    prepare_cpu_ms: prepareCpuMs,
    cpu_ms_per_1000: await timed(manyRecords, 1),
    cpu_ms_of_one: await timed(1, singles),
  };
}

/** CPU time of this process for one of several calls, ms. */
export async function callCpuMs(calls: number, call: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  for (let done = 0; done < calls; done += 1) await call();
  return cpuMsSince(before) / calls;
}

function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
