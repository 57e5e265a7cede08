import type { OnEnd } from '../stack/run-to-end.js';
import { readableCount } from '../terminal/readable-numbers.js';
import { renderTable } from '../terminal/table.js';
import { type GradingRow, measureGrading } from './grading.js';

/** Name of the row that measures grading: it starts a MongoDB of its own, and needs no service. */
export const gradingRowName = 'grading';

const predictions = 1_000_000;
/** A quarter of what the rest of the benchmark gives its MongoDB. */
const cacheSizeGB = 1;

/** Measures grading a year of a million predictions, and what the days after it cost. */
export const gradingRows = (say: (line: string) => void, onEnd: OnEnd): Promise<GradingRow[]> =>
  measureGrading({ predictions, cacheSizeGB, say }, onEnd);

/** The row as `--json` prints it. */
export const gradingDocument = ({
  name,
  predictions: stored,
  days,
  adjustedDays,
  seconds,
  cpuSeconds,
}: GradingRow) => ({
  name,
  predictions: stored,
  days,
  adjusted_days: adjustedDays,
  seconds: Number(seconds.toFixed(3)),
  cpu_s: { grader: Number(cpuSeconds.grader.toFixed(3)), mongod: Number(cpuSeconds.mongod.toFixed(3)) },
});

/** A table, one line for each grade. */
export function gradingTable(rows: readonly GradingRow[]): string {
  const columns = [
    { name: 'Grading', whole: true },
    { name: 'predictions', align: 'right', whole: true },
    { name: 'days computed', align: 'right', whole: true },
    { name: 'adjusted', align: 'right', whole: true },
    { name: 'seconds', align: 'right', whole: true },
    { name: 'CPU-s grader', align: 'right', whole: true },
    { name: 'mongod', align: 'right', whole: true },
  ] as const;
  const cells = rows.map(({ name, predictions: stored, days, adjustedDays, seconds, cpuSeconds }) => [
    name,
    readableCount(stored),
    String(days),
    String(adjustedDays),
    ...[seconds, cpuSeconds.grader, cpuSeconds.mongod].map((value) => value.toFixed(2)),
  ]);
  return renderTable(columns, cells, { width: 110 });
}
