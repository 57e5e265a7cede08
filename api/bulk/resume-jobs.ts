import type { Clock } from '../../shared/contract/dates.js';
import { ApiError } from '../../shared/contract/errors.js';
import { stopOf } from '../../shared/contract/plans.js';
import type { Logger } from '../../shared/process/logger.js';
import { endedAt, type Job, jobLimits } from '../../shared/store/jobs/job-documents.js';
import type { SliceStore } from '../../shared/store/jobs/job-slices.js';
import type { JobUploadStore } from '../../shared/store/jobs/job-uploads.js';
import type { JobStore } from '../../shared/store/jobs/jobs.js';
import type { ScoringServices } from '../services.js';
import { resumableReasons } from './pauses.js';
import { keyOf } from './score-slice.js';
import { type SettleDeps, settlePrefix } from './settle-prefix.js';

export interface ResumeDeps extends SettleDeps, Pick<ScoringServices, 'admission' | 'metering'> {
  readonly jobs: JobStore;
  readonly slices: SliceStore;
  readonly uploads: JobUploadStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly retentionMs: number;
  readonly stopping: AbortSignal;
}

/**
 * Resumes paused jobs whose cause is gone: a new month has begun, a limit was raised, or a suspension ended. Jobs that
 * a person paused stay paused.
 * @throws errors of MongoDB and Redis
 */
export async function resumeJobs(deps: ResumeDeps): Promise<void> {
  const { jobs, logger } = deps;
  for (const { _id, pause } of await jobs.inStates(['paused'])) {
    if (pause === undefined || !resumableReasons.has(pause.reason)) continue;
    const job = await jobs.findById(_id);
    if (job === undefined || !(await isCauseGone(job, deps))) continue;
    const resumed = await jobs.change(
      _id,
      ['paused'],
      { $set: { state: 'running' }, $unset: { pause: 1 } },
      { 'pause.reason': pause.reason },
    );
    if (resumed !== undefined) logger.info({ job: _id, reason: pause.reason }, 'bulk job resumed');
  }
}

async function isCauseGone(job: Job, deps: ResumeDeps): Promise<boolean> {
  const { admission, clock } = deps;
  const { reason, resume_at: resumeAt } = job.pause ?? {};
  const isDue = resumeAt !== undefined && resumeAt.getTime() <= clock.now();
  if (reason === 'model_unavailable' || reason === 'scoring_failed') return isDue;
  try {
    const { organisation } = await admission.admit({ apiKey: keyOf(job), bucket: job.bucket, modelId: job.model });
    return reason !== 'quota_exceeded' || (await fits(job, organisation, deps));
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}

/** Whether the next slice fits into the month. */
async function fits(
  job: Job,
  organisation: Parameters<ResumeDeps['metering']['usage']>[0],
  { metering, slices }: ResumeDeps,
): Promise<boolean> {
  const [next] = await slices.list(job._id, { from: job.settled.slices, limit: 1, state: 'open' });
  const usage = await metering.usage(organisation, job.bucket);
  return usage.current + (next?.rows ?? 1) <= stopOf(usage, job.options.stop_at);
}

/** Time in which a canceled job may still get finished slices, and in which those of a dead runner are settled. */
const settleCanceledLeases = 6;

/**
 * Shows what runners have finished of jobs that were canceled meanwhile. Their rows are counted, and a runner that died
 * cannot show them.
 */
export async function settleCanceled(deps: ResumeDeps): Promise<void> {
  const { jobs, clock, leaseMs } = deps;
  const since = new Date(clock.now() - settleCanceledLeases * leaseMs);
  for (const { file, ...job } of await jobs.canceledSince(since))
    if (file !== undefined) await settlePrefix({ ...job, file }, new Set(), deps);
}

/** Cancels jobs whose upload was not completed within a day, and removes the bytes that arrived. */
export async function cancelAbandoned({
  jobs,
  uploads,
  clock,
  logger,
  retentionMs,
  stopping,
}: Pick<ResumeDeps, 'jobs' | 'uploads' | 'clock' | 'logger' | 'retentionMs' | 'stopping'>): Promise<void> {
  const nowMs = clock.now();
  for (const { _id, created_at } of await jobs.inStates(['awaiting_upload'])) {
    if (created_at.getTime() + jobLimits.awaitUploadMs > nowMs) continue;
    const canceled = await jobs.change(_id, ['awaiting_upload'], {
      $set: { state: 'canceled', ...endedAt(nowMs, retentionMs) },
    });
    if (canceled === undefined) continue;
    logger.info({ job: _id }, 'bulk job canceled: its file did not arrive within a day');
    // No call can add bytes any more. If the removal fails, they go with the job.
    await uploads.removeInSteps(_id, stopping);
  }
}
