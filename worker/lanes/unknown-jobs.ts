import { DelayedError, type Job } from 'bullmq';

const againAfterMs = 1_000;
/** After a release was taken back, no pool knows the job. */
const knownWithinMs = 60_000;

/**
 * Puts a job that this release does not know back for a second, so that a pool of a later release gets it. A minute
 * after it was due it ends without a result.
 * @param token of the worker that runs it
 * @throws DelayedError, which BullMQ needs
 */
export async function leaveToOthers(job: Job, token: string | undefined): Promise<void> {
  const dueMs = job.timestamp + (job.opts.delay ?? 0);
  if (Date.now() - dueMs > knownWithinMs) return;
  await job.moveToDelayed(Date.now() + againAfterMs, token);
  throw new DelayedError();
}
