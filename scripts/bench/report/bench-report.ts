import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import type { LoadReport } from '../load/messages.js';
import { bareRow, comparedRow, floorRow } from '../scenarios.js';
import type { Spread } from './percentile.js';
import { type BenchRow, figuresDocument, loadText, parts } from './rows.js';
import { type Columns, reportTable, short, wholeNumber, withRange } from './tables.js';

export type Machine = ReturnType<typeof describeMachine>;

/** Results of one run. */
export interface BenchOutcome {
  readonly rows: readonly BenchRow[];
  readonly reports: readonly LoadReport[];
  /** Rows of replies that were compared with the floor. */
  readonly comparedRows: number;
}

/** Cores in use by other processes from which the figures are disturbed. */
const noticeableCores = 0.1;

/** This machine before the first window, and the versions of the servers on it. */
export const describeMachine = (versions: { readonly redis: string; readonly mongod: string }, workers: number) => ({
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  cores: availableParallelism(),
  memory_gb: Math.round(totalmem() / 2 ** 30),
  platform: `${process.platform} ${process.arch}`,
  node: process.versions.node,
  redis: versions.redis,
  mongod: versions.mongod,
  workers,
  /** Mean number of runnable processes in the last minute. */
  load_average: Number((loadavg()[0] ?? 0).toFixed(2)),
});

/** The document of `--json`. */
export function jsonReport({ rows, reports }: BenchOutcome, machine: Machine): string {
  const othersCores = coresUsed(reports, (report) => report.othersCpuMs);
  return JSON.stringify({
    machine: { ...machine, others_cores: Number(othersCores.toFixed(2)) },
    rows: rows.map((row) => ({
      name: row.name,
      concurrency: row.concurrency,
      ...figuresDocument(row),
    })),
  });
}

const speedColumns: Columns<BenchRow> = [
  ['row', ({ name }) => name],
  ['callers', loadText],
  ['records/s', (row) => withRange(row.recordsPerS, wholeNumber)],
  ['p50 ms', (row) => withRange(row.p50Ms)],
  ['p95 ms', (row) => withRange(row.p95Ms)],
  ['p99 ms', (row) => withRange(row.p99Ms)],
];

const cpuColumns: Columns<BenchRow> = [
  ['CPU-ms per 1000 records', ({ name }) => name],
  ['callers', loadText],
  ...(['gateway', 'workers', 'redis', 'mongod'] as const).map(
    (part) => [part, (row: BenchRow) => (row.name === floorRow ? '' : short(row.cpuMsPer1000[part].median))] as const,
  ),
  ['total', (row) => withRange(row.cpuMsPer1000.total)],
];

/** Tables, and the efficiency in the last line if its rows were measured. */
export function readableReport({ rows, reports, comparedRows }: BenchOutcome, machine: Machine): string {
  const repeats = reports.length / Math.max(1, rows.length);
  const othersCores = coresUsed(reports, (report) => report.othersCpuMs);
  const ownLoad = percent(coresUsed(reports, (report) => report.generatorCpuMs));
  const lines = [
    `${machine.cores} cores (${machine.cpu}), ${machine.memory_gb} GB, ${machine.platform}; Node ${machine.node}, ` +
      `Redis ${machine.redis}, MongoDB ${machine.mongod}; one gateway, ${machine.workers} workers`,
    repeats > 1 ? `Medians of ${repeats} interleaved repeats, ranges in brackets.` : 'One repeat.',
    '',
    reportTable(speedColumns, rows),
    '',
    reportTable(cpuColumns, rows),
    '',
    memoryLine(rows),
    comparedRows > 0 &&
      `Every reply was checked; ${comparedRows} rows equal the floor's. ` +
        `The load itself took ${ownLoad} of a core, not counted.`,
    othersCores > noticeableCores &&
      `The machine was not quiet: other processes took ${percent(othersCores)} of a core.`,
    comparisonLine(rows),
    efficiencyLine(rows),
  ];
  return `${lines.filter((line) => line !== undefined && line !== false).join('\n')}\n`;
}

/** Mean number of cores in use within the windows. */
function coresUsed(reports: readonly LoadReport[], cpuMs: (report: LoadReport) => number): number {
  const elapsedMs = reports.reduce((sum, report) => sum + report.elapsedMs, 0);
  return reports.reduce((sum, report) => sum + cpuMs(report), 0) / elapsedMs;
}

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

/** Resident memory of the service at the end of its last row. */
function memoryLine(rows: readonly BenchRow[]): string | undefined {
  const last = rows.findLast(({ name }) => name !== floorRow && name !== bareRow);
  if (last === undefined) return undefined;
  return `Memory, MB: ${parts.map((part) => `${part} ${wholeNumber(last.rssMb[part].median)}`).join(', ')}`;
}

/** Single calls of the service divided by those of the bare queue. */
function comparisonLine(rows: readonly BenchRow[]): string | undefined {
  const ours = rows.find(({ name }) => name === comparedRow);
  const bare = rows.find(({ name }) => name === bareRow);
  if (ours === undefined || bare === undefined) return undefined;
  const ratio = (one: Spread, other: Spread, text: (value: number) => string) =>
    `${text(one.median)} / ${text(other.median)} = ${(one.median / other.median).toFixed(2)}`;
  const calls = ratio(ours.recordsPerS, bare.recordsPerS, wholeNumber);
  return `${comparedRow} / ${bareRow}: calls/s ${calls}; p99 ms ${ratio(ours.p99Ms, bare.p99Ms, short)}`;
}

/** Share of the floor in the CPU time of the main row. */
function efficiencyLine(rows: readonly BenchRow[]): string | undefined {
  const floor = rows.find(({ name }) => name === floorRow)?.cpuMsPer1000.total.median;
  const batch = rows.findLast(({ name }) => name === 'batch-1000')?.cpuMsPer1000.total.median;
  if (floor === undefined || batch === undefined) return undefined;
  const costs = `${short(floor)} / ${short(batch)} CPU-ms per 1000 records`;
  return `efficiency = floor / batch-1000 = ${costs} = ${percent(floor / batch)}`;
}
