import type { LoadReport } from '../load/messages.js';
import { type Spread, spreadOf } from './percentile.js';
import { mapValues, rounded } from './tables.js';

/** Parts of the service with CPU time and memory of their own, and their sum. */
export const parts = ['gateway', 'workers', 'redis', 'mongod', 'total'] as const;
export type Part = (typeof parts)[number];
export type ByPart<Value> = Readonly<Record<Part, Value>>;

export interface RowLabel {
  readonly name: string;
  /** Callers of a closed load; null for an open one. */
  readonly concurrency: number | null;
  /** Rate of an open load. */
  readonly callsPerSecond: number | undefined;
}

/** One row: medians and ranges over the repeats. */
export interface BenchRow extends RowLabel {
  readonly recordsPerS: Spread;
  readonly p50Ms: Spread;
  readonly p95Ms: Spread;
  readonly p99Ms: Spread;
  /** CPU-milliseconds per 1,000 records. */
  readonly cpuMsPer1000: ByPart<Spread>;
  readonly rssMb: ByPart<Spread>;
}

export interface BenchProgress {
  doing(what: string): void;
  measured(label: RowLabel, report: LoadReport): void;
}

/** Load of a row as the tables show it: `4` callers or `19/s`. */
export const loadText = ({ concurrency, callsPerSecond }: RowLabel): string =>
  callsPerSecond === undefined ? `${concurrency}` : `${callsPerSecond}/s`;

export const recordsPerS = ({ records, elapsedMs }: LoadReport): number => (1000 * records) / elapsedMs;

/** CPU-milliseconds per 1,000 records. The floor has no parts: only its total is above 0. */
export const cpuMsPer1000 = ({ cpuMs, records }: LoadReport): ByPart<number> =>
  mapValues(byPart(cpuMs), (ms) => (1000 * ms) / records);

/** @throws RangeError without reports */
export function benchRow(label: RowLabel, reports: readonly LoadReport[]): BenchRow {
  const spread = (value: (report: LoadReport) => number): Spread => spreadOf(reports.map(value));
  const spreads = (values: (report: LoadReport) => ByPart<number>) =>
    partsOf((part) => spread((report) => values(report)[part]));
  return {
    ...label,
    recordsPerS: spread(recordsPerS),
    p50Ms: spread(({ latencyMs }) => latencyMs.p50),
    p95Ms: spread(({ latencyMs }) => latencyMs.p95),
    p99Ms: spread(({ latencyMs }) => latencyMs.p99),
    cpuMsPer1000: spreads(cpuMsPer1000),
    rssMb: spreads(({ rssMb }) => byPart(rssMb)),
  };
}

/** Medians of a row for `--json`. */
export function figuresDocument(row: BenchRow) {
  const medians = (spreads: ByPart<Spread>) => mapValues(spreads, ({ median }) => rounded(median));
  return {
    records_per_s: rounded(row.recordsPerS.median),
    p50_ms: rounded(row.p50Ms.median),
    p95_ms: rounded(row.p95Ms.median),
    p99_ms: rounded(row.p99Ms.median),
    cpu_ms_per_1000: medians(row.cpuMsPer1000),
    rss_mb: medians(row.rssMb),
  };
}

const byPart = (values: Readonly<Record<string, number>>): ByPart<number> => {
  const total = Object.values(values).reduce((sum, value) => sum + value, 0);
  return partsOf((part) => (part === 'total' ? total : (values[part] ?? 0)));
};

const partsOf = <Value>(read: (part: Part) => Value): ByPart<Value> =>
  Object.fromEntries(parts.map((part) => [part, read(part)])) as Record<Part, Value>;
