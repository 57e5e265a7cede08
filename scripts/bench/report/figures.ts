import { type ByPart, type Figures, type LoadReport, parts } from '../load/messages.js';
import type { Load } from '../scenarios.js';
import { type Spread, spreadOf } from './percentile.js';
import { wholeNumber } from './tables.js';

/** One row: a load and its windows, one per repeat. */
export interface BenchRow {
  readonly name: string;
  readonly load: Load;
  readonly reports: readonly LoadReport[];
}

/** Load as the tables show it: `4` callers or `19/s`. */
export const loadText = (load: Load): string => ('callers' in load ? `${load.callers}` : `${load.callsPerSecond}/s`);

/** One window as a line of progress. */
export function windowText(name: string, load: Load, { figures }: LoadReport): string {
  return [
    name.padEnd(16),
    loadText(load).padStart(6),
    `${wholeNumber(figures.records_per_s).padStart(8)} records/s`,
    `p99 ${figures.p99_ms.toFixed(1).padStart(6)} ms`,
    `${figures.cpu_ms_per_1000.total.toFixed(1).padStart(6)} CPU-ms/1000`,
  ].join('  ');
}

/** @param values by group of processes; a part that has none is 0 */
export function byPart(values: Readonly<Record<string, number>>): ByPart {
  const total = Object.values(values).reduce((sum, value) => sum + value, 0);
  const { gateway = 0, workers = 0, redis = 0, mongod = 0 } = values;
  return { gateway, workers, redis, mongod, total };
}

export const spreadIn = ({ reports }: Pick<BenchRow, 'reports'>, figure: (figures: Figures) => number): Spread =>
  spreadOf(reports.map(({ figures }) => figure(figures)));

/** Medians of a row for `--json`. */
export function medianFigures(row: Pick<BenchRow, 'reports'>): Figures {
  const median = (figure: (figures: Figures) => number): number => rounded(spreadIn(row, figure).median);
  const medians = (key: 'cpu_ms_per_1000' | 'rss_mb') =>
    Object.fromEntries(parts.map((part) => [part, median((figures) => figures[key][part])])) as ByPart;
  return {
    records_per_s: median(({ records_per_s }) => records_per_s),
    p50_ms: median(({ p50_ms }) => p50_ms),
    p95_ms: median(({ p95_ms }) => p95_ms),
    p99_ms: median(({ p99_ms }) => p99_ms),
    cpu_ms_per_1000: medians('cpu_ms_per_1000'),
    rss_mb: medians('rss_mb'),
  };
}

/** Five significant digits, for JSON. */
export const rounded = (value: number): number => Number(value.toPrecision(5));

export const recordsPerSecond = ({ records_per_s }: Figures): number => records_per_s;
export const p50Ms = ({ p50_ms }: Figures): number => p50_ms;
export const p99Ms = ({ p99_ms }: Figures): number => p99_ms;
/** CPU time of all groups of processes. */
export const totalCpuMs = ({ cpu_ms_per_1000 }: Figures): number => cpu_ms_per_1000.total;
