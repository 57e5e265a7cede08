import type { Clock } from '../../shared/contract/dates.js';
import { withSlice } from '../../shared/store/jobs/input-sums.js';
import {
  endedAt,
  type Job,
  type JobSlice,
  type JobTotals,
  numberOfSlice,
  type SliceBytes,
} from '../../shared/store/jobs/job-documents.js';
import type { Settling, SliceStore } from '../../shared/store/jobs/job-slices.js';
import type { JobUploadStore } from '../../shared/store/jobs/job-uploads.js';
import type { JobStore } from '../../shared/store/jobs/jobs.js';
import type { ReadJob } from './score-slice.js';

export interface SettleDeps {
  readonly jobs: JobStore;
  readonly slices: SliceStore;
  readonly uploads: JobUploadStore;
  readonly clock: Clock;
  /** Max duration of a call and of what follows it: a lease. */
  readonly leaseMs: number;
}

/** Dependencies for the end of a job. */
export interface CompleteDeps extends Pick<SettleDeps, 'jobs' | 'uploads' | 'clock'> {
  readonly retentionMs: number;
}

/** Slices that one step reads. */
const slicesPerStep = 64;
const endedAfterLeases = 3;

/**
 * Shows the results of finished slices, in order, up to the first slice that is not finished. A shown slice is settled:
 * its call can no longer be voided. So only slices are settled whose call has certainly ended:
 * - slices that this runner has just scored without a failure;
 * - slices whose call is older than three leases. Their runner has died, or voids the call. A frozen runner's
 *   transaction is aborted by MongoDB after a minute, which is two leases by default.
 * @param ended ids of the slices that this runner has scored
 * @returns the totals after it
 * @throws MongoDB's error
 */
export async function settlePrefix(
  job: ReadJob,
  ended: ReadonlySet<string>,
  { jobs, slices, uploads, clock, leaseMs }: SettleDeps,
): Promise<JobTotals> {
  const hasEnded = ({ _id, outcome }: JobSlice): boolean =>
    ended.has(_id) || (outcome !== undefined && outcome.done_at.getTime() + endedAfterLeases * leaseMs < clock.now());
  let totals = job.settled;
  let input = job.input;
  for (;;) {
    const next = await slices.list(job._id, { from: totals.slices, limit: slicesPerStep });
    const ready: (Settling & { readonly slice: JobSlice })[] = [];
    let sums = totals;
    let inputSums = input;
    let notices: readonly string[] = [];
    for (const slice of next) {
      if (numberOfSlice(slice._id) !== sums.slices || slice.outcome === undefined) break;
      if (slice.state === 'done' && !hasEnded(slice)) break;
      // Also one that is settled: the runner died before it moved the prefix, and an erasure may have come since.
      ready.push({ slice, start: startAfter(sums) });
      if (sums.scored === 0 && slice.outcome.scored > 0) notices = slice.outcome.notices ?? [];
      sums = totalsWith(sums, slice);
      inputSums &&= withSlice(inputSums, slice.outcome.input);
    }
    if (ready.length === 0) return totals;
    // A slice was voided since it was read. The slices before it are settled by the next turn.
    if (!(await slices.settle(ready))) return totals;
    const settled = ready.map(({ slice }) => slice._id);
    // Before the prefix moves: a runner that dies in between repeats all.
    await slices.removeInputs(settled);
    const ranges = ready.flatMap(({ slice: { range } }) => range ?? []);
    const [first, last] = [ranges[0], ranges.at(-1)];
    // The end of a job removes what is left.
    if (first !== undefined && last !== undefined && sums.slices < job.file.slices)
      await uploads.removeRanges(job._id, first, last);
    // Another runner may have done the same, with the same sums.
    if (!(await jobs.advance({ ...job, settled: totals }, sums, { input: inputSums, notices }))) return totals;
    [totals, input] = [sums, inputSums];
    if (settled.length < slicesPerStep) return totals;
  }
}

const startAfter = (sums: JobTotals): SliceBytes => ({
  result_bytes: sums.result_bytes,
  result_gzip_bytes: sums.result_gzip_bytes,
  error_bytes: sums.error_bytes,
  error_gzip_bytes: sums.error_gzip_bytes,
});

function totalsWith(sums: JobTotals, { rows, outcome }: JobSlice): JobTotals {
  if (outcome === undefined) return sums;
  return {
    slices: sums.slices + 1,
    rows: sums.rows + rows,
    scored: sums.scored + outcome.scored,
    failed: sums.failed + outcome.failed,
    empty: sums.empty + outcome.empty,
    result_bytes: sums.result_bytes + outcome.result_bytes,
    result_gzip_bytes: sums.result_gzip_bytes + outcome.result_gzip_bytes,
    error_bytes: sums.error_bytes + outcome.error_bytes,
    error_gzip_bytes: sums.error_gzip_bytes + outcome.error_gzip_bytes,
  };
}

/** Ends a job whose slices are all settled. @returns whether it has ended */
export async function completeIfSettled(
  job: Job,
  settled: JobTotals,
  { jobs, uploads, clock, retentionMs }: CompleteDeps,
): Promise<boolean> {
  if (job.file === undefined || settled.slices < job.file.slices) return false;
  // The last rows of a plain file are still there. So is an upload that a runner removes, or ended before it had.
  await uploads.remove(job._id);
  await jobs.change(
    job._id,
    ['running', 'paused'],
    { $set: { state: 'completed', ...endedAt(clock.now(), retentionMs) }, $unset: { pause: 1 } },
    { 'settled.slices': job.file.slices },
  );
  return true;
}
