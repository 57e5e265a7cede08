import { countText } from '../../cli/output/readable-numbers.js';
import { renderTable } from '../../cli/output/table.js';
import type { OnEnd } from '../../servers/run-to-end.js';
import type { Spread } from './percentile.js';

/** Columns of a report. The first is left-aligned and the others right-aligned, unless a column names its side. */
export type Columns<Row> = readonly (readonly [name: string, text: (row: Row) => string, align?: 'left' | 'right'])[];

export const reportTable = <Row>(columns: Columns<Row>, rows: readonly Row[]): string =>
  renderTable(
    columns.map(([name, , align], index) => ({ name, align: align ?? (index === 0 ? 'left' : 'right'), whole: true })),
    rows.map((row) => columns.map(([, text]) => text(row))),
    { width: 110 },
  );

/** Three digits: 0.12, 1.23, 12.3, 123. */
export function short(value: number): string {
  if (value >= 99.95) return wholeNumber(value);
  return value.toFixed(value >= 9.995 ? 1 : 2);
}

export const wholeNumber = (value: number): string => countText(Math.round(value));

/** How a measured figure stands to its goal. */
export const reachedText = (isReached: boolean): string => (isReached ? 'reached' : 'not reached');

/** The median, with the range in brackets if the values differ. */
export function withRange({ min, median, max }: Spread, text: (value: number) => string = short): string {
  return min === max ? text(median) : `${text(median)} (${text(min)}-${text(max)})`;
}

/** Result of rows that are measured without the others. */
export interface ReportSection {
  /** For `--json`. */
  readonly document: unknown;
  readonly text: string;
}

/** Options of the benchmark that such rows use. */
export interface SectionOptions {
  readonly bundlePath: string;
  readonly isDemoBundle: boolean;
  /** Whether `--quick` was given. */
  readonly isQuick: boolean;
  /** Windows per row. */
  readonly repeats: number;
  /** Rows of a bulk job. */
  readonly rows: number;
  /** Length of a sustained row. */
  readonly minutes: number;
  /** Load before the first window, ms. V8 compiles the hot code in this time. */
  readonly firstWarmUpMs: number;
  readonly say: (line: string) => void;
  readonly onEnd: OnEnd;
}
