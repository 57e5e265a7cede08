import { readableCount, readableDuration } from '../terminal/readable-numbers.js';
import { renderTable } from '../terminal/table.js';
import type { ChaosResult } from './chaos-result.js';

const mostProblemsShown = 20;
const tableWidth = 110;

/** What a run came to, for a person. */
export function readableReport(result: ChaosResult): string {
  const { answers, counters } = result;
  const lines = [
    `${readableCount(result.calls)} calls: ${Object.entries(answers)
      .map(([outcome, count]) => `${readableCount(count)} ${outcome}`)
      .join(
        ', ',
      )}; ${readableCount(result.replays)} of them replays; the slowest took ${readableDuration(result.slowest_ms)}`,
    `${readableCount(result.counted_calls)} calls of ${readableCount(result.counted_records)} records counted; ` +
      `Redis and the ledger agreed ${readableDuration(result.exact_ms)} after the last call`,
    `usage and hard stop: ${counters
      .map(({ used, hard_stop }) => `${readableCount(used)} of ${readableCount(hard_stop)}`)
      .join(', ')}`,
    '',
    faultTable(result),
    '',
    ...verdictLines(result),
  ];
  return `${lines.join('\n')}\n`;
}

function verdictLines({ problems, not_judged, history }: ChaosResult): string[] {
  if (problems.length > 0)
    return [
      `${readableCount(problems.length)} things do not hold (history in ${history}):`,
      ...shown(problems),
    ];
  if (not_judged.length === 0)
    return ['All holds: each 200 is counted once, nothing else is, every call was answered in time.'];
  return [
    `Each 200 is counted once and nothing else is, but the machine was too busy to say that every call is answered in time:`,
    `it kept the service from running for half of the time or more in which ${readableCount(not_judged.length)} answers were late. Run it again while less else runs.`,
    ...shown(not_judged),
  ];
}

const shown = (lines: readonly string[]): string[] =>
  lines.slice(0, mostProblemsShown).map((line) => `  ${line}`);

function faultTable({ faults }: ChaosResult): string {
  return renderTable(
    [{ name: 'fault' }, { name: 'times', align: 'right' }],
    faults.map(({ fault, times }) => [fault, readableCount(times)]),
    { width: tableWidth },
  );
}
