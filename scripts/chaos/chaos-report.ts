import { readableCount, readableDuration } from '../terminal/readable-numbers.js';
import { renderTable } from '../terminal/table.js';
import type { ChaosResult } from './chaos-result.js';

const mostProblemsShown = 20;
const tableWidth = 110;

/** What a run came to, for a person. */
export function readableReport(result: ChaosResult): string {
  const { answers, problems, counters } = result;
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
    problems.length === 0
      ? 'All holds: each 200 is counted once, nothing else is, every call was answered in time.'
      : `${readableCount(problems.length)} things do not hold (history in ${result.history}):`,
    ...problems.slice(0, mostProblemsShown).map((problem) => `  ${problem}`),
  ];
  return `${lines.join('\n')}\n`;
}

function faultTable({ faults }: ChaosResult): string {
  return renderTable(
    [{ name: 'fault' }, { name: 'times', align: 'right' }],
    faults.map(({ fault, times }) => [fault, readableCount(times)]),
    { width: tableWidth },
  );
}
