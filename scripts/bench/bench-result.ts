import type { LoadReport } from './load-messages.js';
import { type Spread, spreadOf } from './percentile.js';

/** The parts of the service whose CPU time and memory are told apart, and their sum. */
export const parts = ['gateway', 'workers', 'redis', 'mongod', 'total'] as const;
export type Part = (typeof parts)[number];

/** One row: medians over the repeats, with their ranges. */
export interface BenchRow {
  readonly name: string;
  /** Callers of a closed load; null for an open one. */
  readonly concurrency: number | null;
  /** Calls a second of an open load. */
  readonly callsPerSecond: number | undefined;
  readonly recordsPerS: Spread;
  readonly p50Ms: Spread;
  readonly p95Ms: Spread;
  readonly p99Ms: Spread;
  /** CPU-milliseconds per 1000 records. */
  readonly cpuMsPer1000: Readonly<Record<Part, Spread>>;
  readonly rssMb: Readonly<Record<Part, Spread>>;
}

/** What identifies a row. */
export type RowLabel = Pick<BenchRow, 'name' | 'concurrency' | 'callsPerSecond'>;

/** Is told how far a run has come. */
export interface BenchProgress {
  doing(what: string): void;
  measured(label: RowLabel, report: LoadReport): void;
}

/** Puts the repeats of a row together. Throws RangeError when there are none. */
export function benchRow(label: RowLabel, reports: readonly LoadReport[]): BenchRow {
  const spread = (value: (report: LoadReport) => number): Spread => spreadOf(reports.map(value));
  const byPart = (value: (report: LoadReport, part: Part) => number) =>
    Object.fromEntries(parts.map((part) => [part, spread((report) => value(report, part))])) as Record<
      Part,
      Spread
    >;
  return {
    ...label,
    recordsPerS: spread((report) => (1000 * report.records) / report.elapsedMs),
    p50Ms: spread((report) => report.latencyMs.p50),
    p95Ms: spread((report) => report.latencyMs.p95),
    p99Ms: spread((report) => report.latencyMs.p99),
    cpuMsPer1000: byPart((report, part) => cpuMsPer1000(report, part)),
    rssMb: byPart((report, part) => partOf(report.rssMb, part)),
  };
}

/** CPU-milliseconds that a part spent on 1000 records. */
export const cpuMsPer1000 = (report: LoadReport, part: Part): number =>
  (1000 * partOf(report.cpuMs, part)) / report.records;

/** The floor has no parts: only its total is not 0. */
function partOf(values: Readonly<Record<string, number>>, part: Part): number {
  if (part !== 'total') return values[part] ?? 0;
  return Object.values(values).reduce((sum, value) => sum + value, 0);
}
