import { readableCount } from '../terminal/readable-numbers.js';
import { renderTable } from '../terminal/table.js';
import { type BenchRow, type Part, parts, type RowLabel } from './bench-result.js';
import type { BenchOutcome } from './bench-run.js';
import type { LoadReport } from './load-messages.js';
import { type Machine, machineLine } from './machine.js';
import type { Spread } from './percentile.js';
import { bareRow, besideBareRow, floorRow } from './scenarios.js';

const width = 110;
/** Beyond this, what other processes did has a part in the figures. */
const noticeableCores = 0.1;

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

/** What a run came to, as a person reads it; the last line says the efficiency, when the rows for it were measured. */
export function readableReport(
  { rows, reports, comparedRows }: BenchOutcome,
  { machine, skipped }: { readonly machine: Machine; readonly skipped: readonly string[] },
): string {
  const repeats = reports.length / Math.max(1, rows.length);
  const { others_cores: othersCores = 0 } = machine;
  const ownLoad = percent(coresUsed(reports, (report) => report.generatorCpuMs));
  const lines = [
    machineLine(machine),
    repeats > 1 ? `Medians of ${repeats} interleaved repeats, ranges in brackets.` : 'One repeat.',
    '',
    speedTable(rows),
    '',
    cpuTable(rows),
    '',
    memoryLine(rows),
    comparedRows > 0
      ? `Every reply was checked; ${comparedRows} rows equal the floor's. The load itself took ${ownLoad} of a core, not counted.`
      : undefined,
    othersCores > noticeableCores
      ? `The machine was not quiet: other processes took ${percent(othersCores)} of a core.`
      : undefined,
    ...skipped.map((reason) => `Not measured: ${reason}.`),
    baselineLine(rows),
    efficiencyLine(rows),
  ];
  return `${lines.filter((line) => line !== undefined).join('\n')}\n`;
}

/** Cores that something kept busy within the windows, on average. */
export function coresUsed(reports: BenchOutcome['reports'], cpuMs: (report: LoadReport) => number): number {
  const elapsedMs = reports.reduce((sum, report) => sum + report.elapsedMs, 0);
  return reports.reduce((sum, report) => sum + cpuMs(report), 0) / elapsedMs;
}

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

/** Throughput and latency of every row: medians, and ranges in brackets where there were several repeats. */
function speedTable(rows: readonly BenchRow[]): string {
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
function cpuTable(rows: readonly BenchRow[]): string {
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

/** Resident memory at the end of the windows of the service's last row. */
function memoryLine(rows: readonly BenchRow[]): string | undefined {
  const last = rows.findLast(({ name }) => name !== floorRow && name !== bareRow);
  if (last === undefined) return undefined;
  const each = parts.map((part) => `${part} ${readableCount(Math.round(last.rssMb[part].median))}`);
  return `Memory, MB: ${each.join(', ')}`;
}

/** What share of the main row's CPU time is the work itself; undefined unless both rows were measured. */
function efficiencyLine(rows: readonly BenchRow[]): string | undefined {
  const floor = rows.find((row) => row.name === floorRow)?.cpuMsPer1000.total.median;
  const batches = rows.filter((row) => row.name === 'batch-1000');
  const batch = batches.at(-1)?.cpuMsPer1000.total.median;
  if (floor === undefined || batch === undefined) return undefined;
  const percent = ((100 * floor) / batch).toFixed(0);
  return `efficiency = floor / batch-1000 = ${short(floor)} / ${short(batch)} CPU-ms per 1000 records = ${percent} %`;
}

/** How the service's single calls compare with the bare queue's; undefined unless both rows were measured. */
function baselineLine(rows: readonly BenchRow[]): string | undefined {
  const ours = rows.find(({ name }) => name === besideBareRow);
  const bare = rows.find(({ name }) => name === bareRow);
  if (ours === undefined || bare === undefined) return undefined;
  const of = (value: (row: BenchRow) => Spread, text: (value: number) => string) => {
    const [our, their] = [value(ours).median, value(bare).median];
    return `${text(our)} / ${text(their)} = ${(our / their).toFixed(2)}`;
  };
  const calls = of(
    (row) => row.recordsPerS,
    (value) => readableCount(Math.round(value)),
  );
  const slowest = of((row) => row.p99Ms, short);
  return `${besideBareRow} / ${bareRow}: calls/s ${calls}; p99 ms ${slowest}`;
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
