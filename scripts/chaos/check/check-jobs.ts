import type { JobEvent, LedgerEvent } from './history.js';

/**
 * Checks a job at the end of a run: it is complete or paused for its quota. The ledger counts its scored rows, and its
 * results have the rows of its file in order, each once.
 * @param ledger the rows of its calls
 * @returns broken promises in words
 */
export function checkJob(job: JobEvent, ledger: readonly LedgerEvent[]): string[] {
  const { jobId, state, pauseReason, rows, shownRows, wrongRow, scored, shownScored, wrongSlices } = job;
  const problems: string[] = [];
  const isComplete = state === 'completed';
  if (!(isComplete || (state === 'paused' && pauseReason === 'quota_exceeded')))
    problems.push(`it is ${state}${pauseReason === undefined ? '' : ` (${pauseReason})`} at the end`);
  const counted = ledger.reduce((sum, { records }) => sum + records, 0);
  if (counted !== scored) problems.push(`the ledger counts ${counted} records, its slices ${scored}`);
  if (wrongRow !== undefined) problems.push(`row ${wrongRow} of its results is not row ${wrongRow} of its file`);
  if (wrongSlices > 0) problems.push(`${wrongSlices} slices are misplaced`);
  if (isComplete && shownRows !== rows) problems.push(`its results have ${shownRows} rows of ${rows}`);
  if (isComplete && shownScored !== scored) problems.push(`its results have ${shownScored} scores of ${scored}`);
  return problems.map((problem) => `${jobId}: ${problem}`);
}
