import { short } from '../bench/report/tables.js';
import { countText, readableBytes } from '../cli/output/readable-numbers.js';
import { type Columns, tableOf } from '../cli/output/table.js';
import type { AttackRow, BrokenPromise } from './judge.js';

/** Result of a run, and the JSON document of `--json`. */
export interface AttackResult {
  readonly seconds: number;
  readonly rows: readonly AttackRow[];
  /** Broken promises. */
  readonly problems: readonly BrokenPromise[];
  /** Times beyond a promise while other work used the machine. They prove nothing about the service. */
  readonly not_judged: readonly BrokenPromise[];
}

/** A finished attack as a line of progress. */
export function attackText(row: AttackRow, problems: readonly BrokenPromise[]): string {
  const broken = problems.length === 0 ? '' : `  broken: ${promisesOf(problems)}`;
  return `${row.attack.padEnd(24)}  p99 ${short(row.victim_p99_ms).padStart(5)} ms${broken}`;
}

const promisesOf = (problems: readonly BrokenPromise[]): string =>
  [...new Set(problems.map(({ promise }) => promise))].join(', ');

const grown = ({ before, after }: AttackRow['redis_bytes']): string =>
  `${after < before ? '-' : '+'}${readableBytes(Math.abs(after - before)).replace('iB', 'B')}`;

const columns: Columns<AttackRow> = [
  ['attack', ({ attack }) => attack, 'whole'],
  ['p50 ms', (row) => short(row.victim_p50_ms), 'right'],
  ['p99 ms', (row) => short(row.victim_p99_ms), 'right'],
  ['to quiet', (row) => (row.victim_p99_ms / Math.max(1, row.quiet_p99_ms)).toFixed(1), 'right'],
  ['failed', (row) => countText(row.victim_failures.length), 'right'],
  ['loop ms', (row) => countText(row.loop_delay_ms), 'right'],
  ['healthz ms', (row) => short(row.healthz_ms), 'right'],
  ['workers died', (row) => countText(row.dead_workers), 'right'],
  ['Redis', (row) => grown(row.redis_bytes), 'right'],
  ['MongoDB', (row) => grown(row.mongo_bytes), 'right'],
  ['gateway', (row) => grown(row.gateway_bytes), 'right'],
  ['answers', ({ answers }) => countsText(answers).join(', ')],
];
const countsText = (answers: AttackRow['answers']): readonly string[] =>
  Object.entries(answers).map(([name, count]) => `${count} x ${name}`);
const tableWidth = 150;
const maxProblemsShown = 60;
const maxProblemText = 220;

export function readableReport(result: AttackResult, width = tableWidth): string {
  return `${[tableOf(result.rows, columns, { width }), '', ...verdictLines(result)].join('\n')}\n`;
}

function verdictLines({ rows, problems, not_judged }: AttackResult): string[] {
  const busy =
    not_judged.length === 0
      ? []
      : [`Other work used the machine, so ${not_judged.length} times prove nothing:`, ...shown(not_judged)];
  if (problems.length > 0) return [...busy, `${problems.length} promises broken:`, ...shown(problems)];
  const kept = `No victim call failed, no worker died, and Redis holds only what was counted, in ${rows.length} attacks.`;
  return not_judged.length > 0 ? [...busy, kept, 'Run the command again on an idle machine.'] : [kept];
}

const shown = (problems: readonly BrokenPromise[]): string[] =>
  problems
    .slice(0, maxProblemsShown)
    .map(({ attack, promise, text }) => `  ${attack}, ${promise}: ${text.slice(0, maxProblemText)}`);
