import type { Figures } from '../load/messages.js';
import { bareRow, comparedRow, floorRow, mainScenario, mixedSingles, singleOpenRow } from '../scenarios.js';
import { type BenchRow, p50Ms, p99Ms, recordsPerSecond, rounded, spreadIn, totalCpuMs } from './figures.js';
import { type Columns, reachedText, reportTable, short } from './tables.js';

/** A figure of a run beside its goal. */
export interface MeasuredGoal {
  readonly figure: string;
  readonly measured: number;
  /** `at most 3.5`, or `at least 1`. */
  readonly goal: string;
  readonly reached: boolean;
}

type Median = (row: string, figure: (figures: Figures) => number) => number;

interface Goal {
  readonly figure: string;
  /** Medians of rows in, the figure out; NaN when a row was not measured. */
  readonly of: (median: Median) => number;
  readonly limit: { readonly most: number } | { readonly least: number };
}

/** docs/performance.md has them. Floors are those of the same run: with Node 20 a floor takes 1.2 times as long. */
const goals: readonly Goal[] = [
  {
    figure: `${mainScenario.row} of ${mainScenario.load.callers} callers, in floors`,
    of: (median) => median(mainScenario.row, totalCpuMs) / median(floorRow, totalCpuMs),
    limit: { most: 3.5 },
  },
  {
    figure: `${comparedRow} / ${bareRow}, calls/s`,
    of: (median) => median(comparedRow, recordsPerSecond) / median(bareRow, recordsPerSecond),
    limit: { least: 1 },
  },
  {
    figure: `${comparedRow} / ${bareRow}, p99`,
    of: (median) => median(comparedRow, p99Ms) / median(bareRow, p99Ms),
    limit: { most: 1.1 },
  },
  {
    figure: `${mixedSingles.beside} / ${mixedSingles.alone}, p99`,
    of: (median) => median(mixedSingles.beside, p99Ms) / median(mixedSingles.alone, p99Ms),
    limit: { most: 3 },
  },
  { figure: `${singleOpenRow}, p50 ms`, of: (median) => median(singleOpenRow, p50Ms), limit: { most: 8 } },
  { figure: `${singleOpenRow}, p99 ms`, of: (median) => median(singleOpenRow, p99Ms), limit: { most: 20 } },
];

/** The goals whose rows were measured. */
export function measuredGoals(rows: readonly BenchRow[]): MeasuredGoal[] {
  // Rows of one name differ in their callers; the last has the most.
  const median: Median = (name, figure) => {
    const row = rows.findLast((each) => each.name === name);
    return row === undefined ? Number.NaN : spreadIn(row, figure).median;
  };
  return goals.flatMap(({ figure, of, limit }) => {
    const measured = of(median);
    if (Number.isNaN(measured)) return [];
    const [goal, reached] =
      'most' in limit
        ? [`at most ${limit.most}`, measured <= limit.most]
        : [`at least ${limit.least}`, measured >= limit.least];
    return [{ figure, measured: rounded(measured), goal, reached }];
  });
}

const columns: Columns<MeasuredGoal> = [
  ['goal', ({ figure }) => figure],
  ['measured', ({ measured }) => short(measured)],
  ['', ({ goal }) => goal, 'left'],
  [' ', ({ reached }) => reachedText(reached), 'left'],
];

/** A table of the goals. Undefined when none was measured. */
export function goalsText(rows: readonly BenchRow[]): string | undefined {
  const measured = measuredGoals(rows);
  return measured.length === 0 ? undefined : `\n${reportTable(columns, measured)}`;
}
