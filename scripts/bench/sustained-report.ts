import type { OnEnd } from '../stack/run-to-end.js';
import { bar } from '../terminal/bar.js';
import { readableCount } from '../terminal/readable-numbers.js';
import { renderTable } from '../terminal/table.js';
import { parts } from './bench-result.js';
import { measureSustained, type SustainedOptions, type SustainedRow, sustainedLoads } from './sustained.js';

/** Names of the rows that go on for minutes; each starts a service of its own. */
export const sustainedRowNames: readonly string[] = Object.keys(sustainedLoads);

const width = 110;
const barWidth = 20;

/**
 * Measures the sustained rows among some rows, one after the other.
 * @param names of rows; those that are not of `sustainedRowNames` are passed over
 */
export async function sustainedRowsOf(
  names: readonly string[],
  options: SustainedOptions,
  onEnd: OnEnd,
): Promise<SustainedRow[]> {
  const rows: SustainedRow[] = [];
  for (const name of names) {
    const load = sustainedLoads[name];
    if (load !== undefined) rows.push(await measureSustained(name, load, options, onEnd));
  }
  return rows;
}

/** A row as `--json` prints it. */
export const sustainedDocument = ({ name, callers, stretches }: SustainedRow) => ({
  name,
  callers,
  stretches: stretches.map((stretch) => ({
    end_s: rounded(stretch.endS),
    records: stretch.recordsSoFar,
    records_per_s: rounded(stretch.recordsPerS),
    p50_ms: rounded(stretch.p50Ms),
    p99_ms: rounded(stretch.p99Ms),
    cpu_ms_per_1000: Object.fromEntries(parts.map((part) => [part, rounded(stretch.cpuMsPer1000[part])])),
  })),
});

/** A table, one line for each stretch, with a bar for what a thousand records cost in all. */
export function sustainedTable({ name, callers, stretches }: SustainedRow): string {
  const most = Math.max(...stretches.map(({ cpuMsPer1000 }) => cpuMsPer1000.total));
  const right = ['records so far', 'records/s', 'p50 ms', 'p99 ms', ...parts].map(
    (column) => ({ name: column, align: 'right', whole: true }) as const,
  );
  const columns = [
    { name: 'seconds', align: 'right', whole: true } as const,
    ...right,
    { name: 'CPU-ms/1000', whole: true },
  ];
  const cells = stretches.map((stretch) => [
    stretch.endS.toFixed(0),
    readableCount(stretch.recordsSoFar),
    readableCount(Math.round(stretch.recordsPerS)),
    stretch.p50Ms.toFixed(1),
    stretch.p99Ms.toFixed(1),
    ...parts.map((part) => stretch.cpuMsPer1000[part].toFixed(1)),
    bar(stretch.cpuMsPer1000.total / most, barWidth),
  ]);
  return `${name}, ${callers} callers\n${renderTable(columns, cells, { width })}\n${growthLine(stretches)}`;
}

/** What the last stretch costs, held against the first. */
function growthLine(stretches: SustainedRow['stretches']): string {
  const [first, last] = [stretches[0], stretches.at(-1)];
  if (first === undefined || last === undefined) return '';
  const [before, after] = [first.cpuMsPer1000.total, last.cpuMsPer1000.total];
  return `last / first = ${after.toFixed(1)} / ${before.toFixed(1)} CPU-ms per 1000 records = ${(after / before).toFixed(2)}`;
}

const rounded = (value: number): number => Number(value.toPrecision(5));
