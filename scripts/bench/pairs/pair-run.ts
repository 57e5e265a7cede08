import { join } from 'node:path';
import { projectFile } from '../../../shared/process/project-root.js';
import { type RunEnd, temporaryDirectory } from '../../servers/run-to-end.js';
import { writeBulkFile } from '../bulk/bulk-file.js';
import { ProgressLines } from '../report/progress-lines.js';
import { buildCommit } from './other-commit.js';
import { orderIn, type Pair, type Sample, type Side } from './pair-figures.js';
import type { PairOptions, PairRow } from './pair-options.js';
import { jsonOfPairs, type MeasuredRow, textOfPairs } from './pair-report.js';
import { PairedService } from './paired-service.js';

const windowTimes = { warmUpMs: 800, windowMs: 4_000 };
/** V8 compiles the hot code in this time. */
const firstTimes = { warmUpMs: 300, windowMs: 8_000 };
/** A job of some seconds. */
const jobRows = 40_000;

/**
 * Measures another commit and this working tree in turns, and prints the ratios within each pair.
 * @throws UsageError if there is no such commit; Error if a build or a service fails
 */
export async function runPairs(options: PairOptions, { onEnd, end }: RunEnd): Promise<void> {
  const { rows, pairs } = options;
  const progress = new ProgressLines(rows.length * pairs);
  const say = (line: string): void => progress.say(line);
  const other = await buildCommit(options.against, { say, onEnd });
  say('starting Redis, MongoDB and the service for each of the two');
  const ofBoth = { rows, nowMs: Date.now() };
  const [before, now] = await Promise.all([
    PairedService.start(other.root, ofBoth, onEnd),
    PairedService.start(projectFile('.'), ofBoth, onEnd),
  ]);
  const file = { path: join(await temporaryDirectory(onEnd, 'pairs'), 'leads.csv'), rows: jobRows };
  if (rows.includes('job')) await writeBulkFile(file.path, file.rows);
  const measured = await measureRounds(
    { rows, pairs },
    (row, side, isFirst) => {
      progress.doing(isFirst ? `warming up ${row}` : row);
      return { before, now }[side].measure(row, isFirst ? firstTimes : windowTimes, file);
    },
    (row, pair) => progress.finished(pairText(row, pair)),
  );
  await end();
  const outcome = { ref: options.against, commit: other.commit, rows: measured };
  process.stdout.write(options.json ? `${jsonOfPairs(outcome)}\n` : textOfPairs(outcome));
}

/**
 * Measures each row once a round on both sides, one directly after the other. The first measurement of each row and
 * side is left out.
 */
export async function measureRounds(
  { rows, pairs }: Pick<PairOptions, 'rows' | 'pairs'>,
  measure: (row: PairRow, side: Side, isFirst: boolean) => Promise<Sample>,
  finished: (row: PairRow, pair: Pair) => void = () => undefined,
): Promise<readonly MeasuredRow[]> {
  const measured = rows.map((row) => ({ row, pairs: [] as Pair[] }));
  for (const row of rows) for (const side of orderIn(0)) await measure(row, side, true);
  for (let round = 0; round < pairs; round += 1)
    for (const { row, pairs: ofRow } of measured) {
      const samples = new Map<Side, Sample>();
      for (const side of orderIn(round)) samples.set(side, await measure(row, side, false));
      const pair: Pair = { before: samples.get('before') ?? {}, now: samples.get('now') ?? {} };
      ofRow.push(pair);
      finished(row, pair);
    }
  return measured;
}

function pairText(row: PairRow, { before, now }: Pair): string {
  const [old = 0, current = 0] = [before.all, now.all];
  const cpu = `${old.toFixed(1)} -> ${current.toFixed(1)} CPU-ms${row === 'idle' ? '/s' : '/1000'}`;
  return `${row.padEnd(8)}  ${cpu}  x${(current / old).toFixed(3)}`;
}
