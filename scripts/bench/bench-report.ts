import { readableCount } from '../terminal/readable-numbers.js';
import { renderTable } from '../terminal/table.js';
import { type BenchRow, type Part, parts, type RowLabel } from './bench-result.js';
import type { Machine } from './machine.js';
import type { Spread } from './percentile.js';
import { floorRow } from './scenarios.js';

const width = 110;

/** How a row's load reads: `4 callers`, `19/s`. */
export const loadText = ({ concurrency, callsPerSecond }: RowLabel): string =>
  callsPerSecond === undefined ? `${concurrency}` : `${callsPerSecond}/s`;

/** The document that `--json` prints. */
export function jsonReport(machine: Machine, rows: readonly BenchRow[]): string {
  const medians = (spreads: Readonly<Record<Part, Spread>>) =>
    Object.fromEntries(parts.map((part) => [part, rounded(spreads[part].median)]));
  return JSON.stringify({
    machine,
    rows: rows.map((row) => ({
      name: row.name,
      concurrency: row.concurrency,
      records_per_s: rounded(row.recordsPerS.median),
      p50_ms: rounded(row.p50Ms.median),
      p95_ms: rounded(row.p95Ms.median),
      p99_ms: rounded(row.p99Ms.median),
      cpu_ms_per_1000: medians(row.cpuMsPer1000),
      rss_mb: medians(row.rssMb),
    })),
  });
}

/** Throughput and latency of every row: medians, and ranges in brackets where there were several repeats. */
export function speedTable(rows: readonly BenchRow[]): string {
  const columns = ['row', 'callers', 'records/s', 'p50 ms', 'p95 ms', 'p99 ms'];
  return renderTable(
    columns.map((name, index) => ({ name, align: index === 0 ? 'left' : 'right', whole: true })),
    rows.map((row) => [
      row.name,
      loadText(row),
      withRange(row.recordsPerS, (value) => readableCount(Math.round(value))),
      ...[row.p50Ms, row.p95Ms, row.p99Ms].map((spread) => withRange(spread, short)),
    ]),
    { width },
  );
}

/** CPU time by part. */
export function cpuTable(rows: readonly BenchRow[]): string {
  return renderTable(
    [
      { name: 'CPU-ms per 1000 records', whole: true },
      { name: 'callers', align: 'right', whole: true },
      ...parts.map((part) => ({ name: part, align: 'right' as const, whole: true })),
    ],
    rows.map((row) => [
      row.name,
      loadText(row),
      ...parts.map((part) => {
        if (part === 'total') return withRange(row.cpuMsPer1000.total, short);
        return row.name === floorRow ? '' : short(row.cpuMsPer1000[part].median);
      }),
    ]),
    { width },
  );
}

/** Resident memory at the end of the last row's windows. */
export function memoryLine(rows: readonly BenchRow[]): string | undefined {
  const last = rows.findLast((row) => row.name !== floorRow);
  if (last === undefined) return undefined;
  const each = parts.map((part) => `${part} ${readableCount(Math.round(last.rssMb[part].median))}`);
  return `Memory, MB: ${each.join(', ')}`;
}

/** What share of the main row's CPU time is the work itself; undefined unless both rows were measured. */
export function efficiencyLine(rows: readonly BenchRow[]): string | undefined {
  const floor = rows.find((row) => row.name === floorRow)?.cpuMsPer1000.total.median;
  const batches = rows.filter((row) => row.name === 'batch-1000');
  const batch = batches.at(-1)?.cpuMsPer1000.total.median;
  if (floor === undefined || batch === undefined) return undefined;
  const percent = ((100 * floor) / batch).toFixed(0);
  return `efficiency = floor / batch-1000 = ${short(floor)} / ${short(batch)} CPU-ms per 1000 records = ${percent} %`;
}

function withRange({ least, median, greatest }: Spread, text: (value: number) => string): string {
  return least === greatest ? text(median) : `${text(median)} (${text(least)}-${text(greatest)})`;
}

/** Three digits: 0.123, 1.23, 12.3, 123. */
function short(value: number): string {
  if (value >= 99.95) return readableCount(Math.round(value));
  return value.toFixed(value >= 9.995 ? 1 : 2);
}

const rounded = (value: number): number => Number(value.toPrecision(5));
