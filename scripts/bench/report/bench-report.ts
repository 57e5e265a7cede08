import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { type Figures, type LoadReport, parts } from '../load/messages.js';
import { bareRow, comparedRow, floorRow, mainScenario, mixedRow, mixedSingles } from '../scenarios.js';
import {
  type BenchRow,
  loadText,
  medianFigures,
  p50Ms,
  p99Ms,
  recordsPerSecond,
  spreadIn,
  totalCpuMs,
} from './figures.js';
import { goalsText, measuredGoals } from './goals.js';
import { type Columns, reportTable, short, wholeNumber, withRange } from './tables.js';

export type Machine = ReturnType<typeof describeMachine>;

/** Results of one run. */
export interface BenchOutcome {
  readonly rows: readonly BenchRow[];
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
export function jsonReport({ rows }: BenchOutcome, machine: Machine): string {
  const othersCores = coresUsed(rows, (report) => report.othersCpuMs);
  return JSON.stringify({
    machine: { ...machine, others_cores: Number(othersCores.toFixed(2)) },
    rows: rows.map((row) => ({
      name: row.name,
      concurrency: 'callers' in row.load ? row.load.callers : null,
      ...ownFigures(row),
    })),
    goals: measuredGoals(rows),
  });
}

/** The medians of a row. The CPU time and the memory beside `mixed-singles` are those of the batches. */
function ownFigures(row: BenchRow): Partial<Figures> {
  const { cpu_ms_per_1000, rss_mb, ...speed } = medianFigures(row);
  return isBeside(row) ? speed : { ...speed, cpu_ms_per_1000, rss_mb };
}

const isBeside = ({ name }: BenchRow): boolean => name === mixedSingles.beside;

const speedColumns: Columns<BenchRow> = [
  ['row', ({ name }) => name],
  ['callers', ({ load }) => loadText(load)],
  ['records/s', (row) => withRange(spreadIn(row, recordsPerSecond), wholeNumber)],
  ['p50 ms', (row) => withRange(spreadIn(row, p50Ms))],
  ['p95 ms', (row) => withRange(spreadIn(row, ({ p95_ms }) => p95_ms))],
  ['p99 ms', (row) => withRange(spreadIn(row, p99Ms))],
];

const cpuColumns: Columns<BenchRow> = [
  ['CPU-ms per 1000 records', ({ name }) => name],
  ['callers', ({ load }) => loadText(load)],
  ...(['gateway', 'workers', 'redis', 'mongod'] as const).map((part) => {
    const text = (row: BenchRow) => short(spreadIn(row, (figures) => figures.cpu_ms_per_1000[part]).median);
    return [part, (row: BenchRow) => (row.name === floorRow ? '' : text(row))] as const;
  }),
  ['total', (row) => withRange(spreadIn(row, totalCpuMs))],
];

/** Tables: of speed, of CPU time, and of goals. Between them are the figures that compare rows. */
export function readableReport({ rows, comparedRows }: BenchOutcome, machine: Machine): string {
  const repeats = rows[0]?.reports.length ?? 0;
  const othersCores = coresUsed(rows, (report) => report.othersCpuMs);
  const ownLoad = percent(coresUsed(rows, (report) => report.generatorCpuMs));
  const lines = [
    `${machine.cores} cores (${machine.cpu}), ${machine.memory_gb} GB, ${machine.platform}; Node ${machine.node}, ` +
      `Redis ${machine.redis}, MongoDB ${machine.mongod}; one gateway, ${machine.workers} workers for batches`,
    repeats > 1 ? `Medians of ${repeats} interleaved repeats, ranges in brackets.` : 'One repeat.',
    '',
    reportTable(speedColumns, rows),
    '',
    reportTable(
      cpuColumns,
      rows.filter((row) => !isBeside(row)),
    ),
    '',
    memoryLine(rows),
    comparedRows > 0 &&
      `Every reply was checked; ${comparedRows} rows equal the floor's. ` +
        `The load itself took ${ownLoad} of a core, not counted.`,
    othersCores > noticeableCores &&
      `The machine was not quiet: other processes took ${percent(othersCores)} of a core.`,
    comparisonLine(rows),
    ...mixedLines(rows, machine.workers),
    efficiencyLine(rows),
    goalsText(rows),
  ];
  return `${lines.filter((line) => line !== undefined && line !== false).join('\n')}\n`;
}

/** Mean number of cores in use within the windows. */
function coresUsed(rows: readonly BenchRow[], cpuMs: (report: LoadReport) => number): number {
  const reports = rows.flatMap((row) => row.reports);
  const elapsedMs = reports.reduce((sum, report) => sum + report.elapsedMs, 0);
  return reports.reduce((sum, report) => sum + cpuMs(report), 0) / elapsedMs;
}

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

/** Resident memory of the service at the end of its last row. */
function memoryLine(rows: readonly BenchRow[]): string | undefined {
  const last = rows.findLast(({ name }) => name !== floorRow && name !== bareRow);
  if (last === undefined) return undefined;
  const { rss_mb } = medianFigures(last);
  return `Memory, MB: ${parts.map((part) => `${part} ${wholeNumber(rss_mb[part])}`).join(', ')}`;
}

/** Single calls of the service divided by those of the bare queue. */
function comparisonLine(rows: readonly BenchRow[]): string | undefined {
  const ours = rows.find(({ name }) => name === comparedRow);
  const bare = rows.find(({ name }) => name === bareRow);
  if (ours === undefined || bare === undefined) return undefined;
  const ratio = (figure: (figures: Figures) => number, text: (value: number) => string): string => {
    const [one, other] = [spreadIn(ours, figure).median, spreadIn(bare, figure).median];
    return `${text(one)} / ${text(other)} = ${(one / other).toFixed(2)}`;
  };
  const calls = ratio(recordsPerSecond, wholeNumber);
  return `${comparedRow} / ${bareRow}: calls/s ${calls}; p99 ms ${ratio(p99Ms, short)}`;
}

/** Batches beside singles divided by batches alone; singles beside batches and alone; how busy the workers were. */
function mixedLines(rows: readonly BenchRow[], workers: number): readonly string[] {
  const rowOf = (wanted: string) => rows.find(({ name }) => name === wanted);
  const alone = rows.findLast(({ name }) => name === mainScenario.row);
  const [mixed, beside, quiet] = [mixedRow, mixedSingles.beside, mixedSingles.alone].map(rowOf);
  if (alone === undefined || mixed === undefined || beside === undefined || quiet === undefined) return [];
  const median = (row: BenchRow, figure: (figures: Figures) => number): number => spreadIn(row, figure).median;
  const [speed, speedAlone] = [median(mixed, recordsPerSecond), median(alone, recordsPerSecond)];
  const compared = (name: string, figure: (figures: Figures) => number): string =>
    `${name} ms ${short(median(beside, figure))} (alone ${short(median(quiet, figure))})`;
  const busy = (row: BenchRow): string => short(median(row, workerCores));
  return [
    `${mixedRow} / ${mainScenario.row}: records/s ${wholeNumber(speed)} / ${wholeNumber(speedAlone)} = ${(speed / speedAlone).toFixed(2)}`,
    `singles beside batches: ${compared('p50', p50Ms)}, ${compared('p99', p99Ms)}`,
    `cores used by the worker pool, of which ${workers} processes score batches: ${busy(mixed)} (alone ${busy(alone)})`,
  ];
}

const workerCores = ({ cpu_ms_per_1000, records_per_s }: Figures): number =>
  (cpu_ms_per_1000.workers * records_per_s) / 1_000_000;

/** Share of the floor in the CPU time of the main row. */
function efficiencyLine(rows: readonly BenchRow[]): string | undefined {
  const floor = rows.find(({ name }) => name === floorRow);
  const batch = rows.findLast(({ name }) => name === mainScenario.row);
  if (floor === undefined || batch === undefined) return undefined;
  const [floorMs, batchMs] = [spreadIn(floor, totalCpuMs).median, spreadIn(batch, totalCpuMs).median];
  const costs = `${short(floorMs)} / ${short(batchMs)} CPU-ms per 1000 records`;
  return `efficiency = floor / batch-1000 = ${costs} = ${percent(floorMs / batchMs)}`;
}
