import { type Db, withMongoTimeout } from '../../shared/store/connection/connect.js';
import { SliceStore } from '../../shared/store/jobs/job-slices.js';
import { JobUploadStore } from '../../shared/store/jobs/job-uploads.js';
import { JobStore } from '../../shared/store/jobs/jobs.js';
import { removeJob } from '../../shared/store/jobs/remove-job.js';

const jobsPerStep = 20;
const timeoutMs = 30_000; // removing ten thousand slices with their rows takes seconds

/**
 * Removes bulk jobs that are past retention, with all their files. A removal that fails is repeated.
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
  const jobs = new JobStore(database);
  const stores = { jobs, slices: new SliceStore(database), uploads: new JobUploadStore(database) };
  let removed = 0;
  for (;;) {
    const due = await jobs.due(new Date(nowMs), jobsPerStep);
    for (const { _id } of due) {
      if (signal?.aborted) return removed;
      await withMongoTimeout(timeoutMs, () => removeJob(stores, _id));
      removed += 1;
    }
    if (due.length < jobsPerStep) return removed;
  }
}
