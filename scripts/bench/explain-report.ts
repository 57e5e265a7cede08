import { renderTable } from '../terminal/table.js';
import { type ExplainRow, explainSizes, measureExplain } from './explain.js';
import type { Spread } from './percentile.js';

/** Names of the rows that measure explaining: they need no service, and are measured without one. */
export const explainRowNames: readonly string[] = Object.keys(explainSizes);

/**
 * Measures the rows of explaining among some rows.
 * @param names of rows; those that are not of `explainRowNames` are passed over
 */
export async function explainRowsOf(
  names: readonly string[],
  { repeats }: { readonly repeats: number },
): Promise<ExplainRow[]> {
  const rows: ExplainRow[] = [];
  for (const name of names) {
    const size = explainSizes[name];
    if (size !== undefined) rows.push(await measureExplain(name, size, { repeats }));
  }
  return rows;
}

/** A row as `--json` prints it. */
export const explainDocument = ({
  name,
  trees,
  depth,
  prepareCpuMs,
  cpuMsPer1000,
  cpuMsOfOne,
}: ExplainRow) => ({
  name,
  trees,
  depth,
  prepare_cpu_ms: prepareCpuMs,
  cpu_ms_per_1000: cpuMsPer1000,
  cpu_ms_of_one: cpuMsOfOne,
});

/** A table of the rows. */
export function explainTable(rows: readonly ExplainRow[]): string {
  const columns = [
    { name: 'CPU-milliseconds', whole: true },
    { name: 'make ready', align: 'right' },
    { name: '1000 records', align: 'right' },
    { name: 'one record', align: 'right' },
  ] as const;
  const cells = rows.map(({ name, prepareCpuMs, cpuMsPer1000, cpuMsOfOne }) => [
    name,
    prepareCpuMs.toFixed(0),
    spreadText(cpuMsPer1000, 0),
    spreadText(cpuMsOfOne, 2),
  ]);
  return renderTable(columns, cells, { width: 100 });
}

const spreadText = ({ least, median, greatest }: Spread, digits: number): string =>
  `${median.toFixed(digits)} [${least.toFixed(digits)}-${greatest.toFixed(digits)}]`;
