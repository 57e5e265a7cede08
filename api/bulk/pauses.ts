import { type Clock, monthEndMs } from '../../shared/contract/dates.js';
import { ApiError, type ErrorName, messageOf } from '../../shared/contract/errors.js';
import type { ChunkFailure } from '../../shared/messages/score-job.js';
import type { Job, PauseReason } from '../../shared/store/jobs/job-documents.js';
import type { JobStore } from '../../shared/store/jobs/jobs.js';

/** Why a job pauses. */
export interface Pause {
  readonly reason: PauseReason;
  readonly message: string;
}

/** Failures of a slice in a row after which its job pauses. */
const maxFailures = 5;
const firstDelayMs = 1_000;
const maxDelayMs = 60_000;
/** A job that paused because scoring failed tries again after this time. */
const tryAgainMs = 10 * 60_000;

/** Refusals that end only when somebody acts, or when the month ends. Another attempt could not succeed. */
const reasonOf: Partial<Record<ErrorName, PauseReason>> = {
  quotaExceeded: 'quota_exceeded',
  workspaceSuspended: 'workspace_suspended',
  // The organisation is to be deleted. When the operator takes that back, the job goes on.
  invalidApiKey: 'workspace_suspended',
  expiredReadOnly: 'expired_read_only',
  apiDisabled: 'api_disabled',
  deployBlocked: 'deploy_blocked',
  modelNotFound: 'model_unavailable',
};

/** Pauses that end by themselves once their cause is gone; see resume-jobs.ts. */
export const resumableReasons: ReadonlySet<PauseReason> = new Set([
  'quota_exceeded',
  'model_unavailable',
  'scoring_failed',
  'workspace_suspended',
  'expired_read_only',
  'api_disabled',
  'deploy_blocked',
]);

/**
 * Decides what follows on a failed slice.
 * @param earlier failures in a row before this one
 */
export function retryAgain(
  error: unknown,
  earlier: number,
): Pause | { readonly count: number; readonly retryInMs: number } {
  const reason = error instanceof ApiError ? reasonOf[error.errorName] : undefined;
  if (reason !== undefined) return { reason, message: messageOf(error) };
  const count = earlier + 1;
  if (count < maxFailures) return { count, retryInMs: Math.min(firstDelayMs * 4 ** earlier, maxDelayMs) };
  if (isUnavailable(error))
    return {
      reason: 'model_unavailable',
      message: `The model cannot be loaded, or it crashed or hung its workers. The job tries again every ten minutes.`,
    };
  return {
    reason: 'scoring_failed',
    message: `Rows could not be scored and recorded ${maxFailures} times in a row. The job tries again every ten minutes.`,
  };
}

/** Whether the workers cannot use the model. */
function isUnavailable(error: unknown): boolean {
  const failure = error instanceof ApiError ? (error.options.cause as Partial<ChunkFailure> | undefined) : undefined;
  return failure?.code === 'model_unavailable';
}

/** Pauses a running job. */
export async function pauseFor(
  job: Job,
  { reason, message }: Pause,
  { jobs, clock }: { readonly jobs: JobStore; readonly clock: Clock },
): Promise<void> {
  const resumeMs = resumeAtMs(reason, clock.now());
  const resume = resumeMs === undefined ? {} : { resume_at: new Date(resumeMs) };
  await jobs.change(job._id, ['running'], { $set: { state: 'paused', pause: { reason, message, ...resume } } });
}

/** When a pause is expected to end at the latest; undefined when it depends on people. */
function resumeAtMs(reason: PauseReason, nowMs: number): number | undefined {
  if (reason === 'quota_exceeded') return monthEndMs(nowMs);
  if (reason === 'model_unavailable' || reason === 'scoring_failed') return nowMs + tryAgainMs;
  return undefined;
}
