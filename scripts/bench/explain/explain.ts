import { explainTrees } from '../../../worker/drivers/trees/tree-contributions.js';
import { type Spread, spreadOf } from '../report/percentile.js';
import { type Columns, type ReportSection, reportTable, withRange } from '../report/tables.js';
import { type ExplainModelSize, explainModel, explainRows } from './explain-model.js';

/** Cost of explaining with one model in this process. */
interface ExplainRow extends ExplainModelSize {
  readonly name: string;
  /** CPU-milliseconds to prepare a model version, once. */
  readonly prepareCpuMs: number;
  /** CPU-milliseconds for 1,000 records at once. */
  readonly cpuMsPer1000: Spread;
  /** CPU-milliseconds for one record alone. */
  readonly cpuMsOfOne: Spread;
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
  ['prepare', ({ prepareCpuMs }) => prepareCpuMs.toFixed(0)],
  ['1000 records', ({ cpuMsPer1000 }) => withRange(cpuMsPer1000, (ms) => ms.toFixed(0))],
  ['one record', ({ cpuMsOfOne }) => withRange(cpuMsOfOne, (ms) => ms.toFixed(2))],
];

/** @param names some of `explainRowNames` */
export async function explainSection(
  names: readonly string[],
  { repeats }: { readonly repeats: number },
): Promise<ReportSection> {
  const rows: ExplainRow[] = [];
  for (const name of names) {
    const size = sizes[name];
    if (size !== undefined) rows.push({ name, ...size, ...(await measure(size, repeats)) });
  }
  const documents = rows.map(({ name, trees, depth, prepareCpuMs, cpuMsPer1000, cpuMsOfOne }) => ({
    ...{ name, trees, depth, prepare_cpu_ms: prepareCpuMs },
    ...{ cpu_ms_per_1000: cpuMsPer1000, cpu_ms_of_one: cpuMsOfOne },
  }));
  return { document: documents, text: reportTable(columns, rows) };
}

async function measure(size: ExplainModelSize, repeats: number) {
  const started = process.cpuUsage();
  const explainer = await explainTrees(explainModel(size));
  const prepareCpuMs = cpuMsSince(started);
  const timed = async (count: number, calls: number): Promise<Spread> => {
    const rows = explainRows(count);
    const measured: number[] = [];
    // The first repeat warms up and is not counted.
    for (let repeat = 0; repeat <= repeats; repeat += 1) {
      const before = process.cpuUsage();
      for (let call = 0; call < calls; call += 1) await explainer.contributions({ rows, count });
      if (repeat > 0) measured.push(cpuMsSince(before));
    }
    return spreadOf(measured, calls);
  };
  return { prepareCpuMs, cpuMsPer1000: await timed(manyRecords, 1), cpuMsOfOne: await timed(1, singles) };
}

/** CPU time of this process since a reading, ms. */
export function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
