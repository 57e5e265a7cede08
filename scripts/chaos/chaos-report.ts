import { countText, readableDuration } from '../cli/output/readable-numbers.js';
import { type Columns, tableOf } from '../cli/output/table.js';
import type { HistoryEvent } from './check/history.js';

export interface ChaosResult {
  readonly seed: number;
  readonly minutes: number;
  readonly history: string;
  readonly calls: number;
  /** Number of calls by outcome: a status, `lost`, `refused` or `hung-up`. */
  readonly answers: Readonly<Record<string, number>>;
  readonly replays: number;
  readonly slowest_ms: number;
  /** Rows of the ledger, and their records. */
  readonly counted_calls: number;
  readonly counted_records: number;
  /** Time from the last call until Redis equalled the ledger. */
  readonly exact_ms: number;
  /** Bulk jobs, by how they ended, and the rows of their results. */
  readonly jobs: { readonly completed: number; readonly paused: number; readonly other: number; readonly rows: number };
  /** Usage and hard stop of each counter. */
  readonly counters: readonly { readonly used: number; readonly hard_stop: number }[];
  readonly faults: readonly { readonly fault: string; readonly times: number }[];
  /** Broken promises. */
  readonly problems: readonly string[];
  /** Late and lost answers while the machine was too busy to judge the service. */
  readonly not_judged: readonly string[];
}

export function summarize(
  events: readonly HistoryEvent[],
  run: {
    readonly seed: number;
    readonly minutes: number;
    readonly historyFile: string;
    readonly exactMs: number;
    readonly problems: readonly string[];
    readonly notJudged: readonly string[];
  },
): ChaosResult {
  const calls = events.filter((event) => event.kind === 'call');
  const ledger = events.filter((event) => event.kind === 'ledger');
  const counters = events.filter((event) => event.kind === 'counter');
  const answers: Record<string, number> = {};
  for (const { outcome } of calls) answers[outcome] = (answers[outcome] ?? 0) + 1;
  return {
    seed: run.seed,
    minutes: run.minutes,
    history: run.historyFile,
    calls: calls.length,
    answers,
    replays: calls.filter(({ isReplay }) => isReplay).length,
    slowest_ms: Math.round(calls.reduce((slowest, { tookMs }) => Math.max(slowest, tookMs), 0)),
    counted_calls: ledger.length,
    counted_records: ledger.reduce((sum, { records }) => sum + records, 0),
    exact_ms: Math.round(run.exactMs),
    jobs: jobSummary(events.filter((event) => event.kind === 'job')),
    counters: counters.map(({ used, hardStop }) => ({ used, hard_stop: hardStop })),
    faults: faultSummaries(events.filter((event) => event.kind === 'fault')),
    problems: run.problems,
    not_judged: run.notJudged,
  };
}

function jobSummary(jobs: readonly { readonly state: string; readonly shownRows: number }[]): ChaosResult['jobs'] {
  const count = (state: string): number => jobs.filter((job) => job.state === state).length;
  const [completed, paused] = [count('completed'), count('paused')];
  const rows = jobs.reduce((sum, { shownRows }) => sum + shownRows, 0);
  return { completed, paused, other: jobs.length - completed - paused, rows };
}

/** Counts faults by kind; a kind includes all gateways and durations. */
function faultSummaries(faults: readonly { readonly name: string }[]): ChaosResult['faults'] {
  const times = new Map<string, number>();
  for (const { name } of faults) {
    const kind = name.replace(/gateway \d+/, 'a gateway').replace(/,? (for|back after|back by) [\d.]+ s$/, '');
    times.set(kind, (times.get(kind) ?? 0) + 1);
  }
  return [...times]
    .map(([fault, count]) => ({ fault, times: count }))
    .sort((one, other) => one.fault.localeCompare(other.fault));
}

const maxProblemsShown = 20;
const tableWidth = 110;

export function readableReport(result: ChaosResult): string {
  const { counters, jobs } = result;
  const answers = Object.entries(result.answers).map(([outcome, count]) => `${countText(count)} ${outcome}`);
  const usage = counters.map(({ used, hard_stop }) => `${countText(used)} of ${countText(hard_stop)}`);
  const lines = [
    `${countText(result.calls)} calls: ${answers.join(', ')}; ` +
      `${countText(result.replays)} of them replays; the slowest took ${readableDuration(result.slowest_ms)}`,
    `${countText(result.counted_calls)} calls of ${countText(result.counted_records)} records counted; ` +
      `Redis equalled the ledger ${readableDuration(result.exact_ms)} after the last call`,
    `bulk jobs: ${countText(jobs.completed)} complete, ${countText(jobs.paused)} paused, ` +
      `${countText(jobs.other)} other; ${countText(jobs.rows)} rows in their results`,
    `usage and hard stop: ${usage.join(', ')}`,
    '',
    faultTable(result),
    '',
    ...verdictLines(result),
  ];
  return `${lines.join('\n')}\n`;
}

function verdictLines({ problems, not_judged, history }: ChaosResult): string[] {
  if (problems.length > 0)
    return [`${countText(problems.length)} problems found (history in ${history}):`, ...shown(problems)];
  if (not_judged.length === 0)
    return [
      'No problem found: each 200 and each row of a bulk job is counted once, nothing else is, every call was answered in time.',
    ];
  return [
    'Each 200 is counted once and nothing else is, but the machine was too busy to judge the times of the answers.',
    `It stalled the service for at least half of the time of ${countText(not_judged.length)} late answers.`,
    'Run the command again on an idle machine.',
    ...shown(not_judged),
  ];
}

const shown = (lines: readonly string[]): string[] => lines.slice(0, maxProblemsShown).map((line) => `  ${line}`);

function faultTable({ faults }: ChaosResult): string {
  const columns: Columns<(typeof faults)[number]> = [
    ['fault', ({ fault }) => fault],
    ['times', ({ times }) => countText(times), 'right'],
  ];
  return tableOf(faults, columns, { width: tableWidth });
}
