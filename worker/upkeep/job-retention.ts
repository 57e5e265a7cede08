import { type Db, withMongoTimeout } from '../../shared/store/connection/connect.js';
import { SliceStore } from '../../shared/store/jobs/job-slices.js';
import { JobUploadStore } from '../../shared/store/jobs/job-uploads.js';
import { JobStore } from '../../shared/store/jobs/jobs.js';

const jobsPerStep = 20;
const timeoutMs = 30_000; // removing ten thousand slices with their rows takes seconds

/**
 * Removes bulk jobs that are past retention, with all their files. The job itself comes last, so a removal that fails is
 * repeated.
 * @returns removed jobs
 * @throws errors of MongoDB
 */
export async function removeOldJobs({
  database,
  nowMs,
  signal,
}: {
  readonly database: Db;
  readonly nowMs: number;
  readonly signal?: AbortSignal;
}): Promise<number> {
  const [jobs, slices, uploads] = [new JobStore(database), new SliceStore(database), new JobUploadStore(database)];
  let removed = 0;
  for (;;) {
    const due = await jobs.due(new Date(nowMs), jobsPerStep);
    for (const { _id } of due) {
      if (signal?.aborted) return removed;
      await withMongoTimeout(timeoutMs, () => Promise.all([slices.removeJob(_id), uploads.remove(_id)]));
      await jobs.remove(_id);
      removed += 1;
    }
    if (due.length < jobsPerStep) return removed;
  }
}
