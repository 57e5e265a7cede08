import type { Clock } from '../../../shared/contract/dates.js';
import { type ApiError, messageOf } from '../../../shared/contract/errors.js';
import { InputFault } from '../../../shared/files/reading/input-fault.js';
import type { Logger } from '../../../shared/process/logger.js';
import { endedAt, hasEnded, type Job } from '../../../shared/store/jobs/job-documents.js';
import type { SliceStore } from '../../../shared/store/jobs/job-slices.js';
import type { JobStore } from '../../../shared/store/jobs/jobs.js';
import type { WorkspaceCache } from '../../admission/workspace-cache.js';
import type { ScoringServices } from '../../services.js';
import { quotaNotice } from '../quota-notice.js';

export interface EndReadingDeps extends Pick<ScoringServices, 'metering'> {
  readonly jobs: JobStore;
  readonly slices: SliceStore;
  readonly workspaces: Pick<WorkspaceCache, 'manifest' | 'workspace'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly retentionMs: number;
  /** Called when the rows of the job can be scored, before its upload is removed. */
  readonly onRunning: (file: NonNullable<Job['file']>) => void;
}

/** The job was canceled, or read by another runner, while its rows were read. */
export class NoLongerReading extends Error {
  override name = 'NoLongerReading';
}

interface RowsRead {
  readonly file: NonNullable<Job['file']>;
  readonly input: NonNullable<Job['input']>;
  /** Sentences about the rows. */
  readonly notices: readonly string[];
  /** SHA-256 of the upload; undefined without one. */
  readonly sha256?: string;
}

/**
 * Lets a job run whose slices are stored.
 * @throws NoLongerReading
 */
export async function startRunning(job: Job, read: RowsRead, deps: EndReadingDeps): Promise<void> {
  const { jobs, clock, logger } = deps;
  const { file, input, sha256 } = read;
  const notices = [...read.notices, ...(await quotaNoticesOf(job, file.rows, deps))];
  const running = await jobs.change(
    job._id,
    ['reading'],
    {
      $set: {
        ...{ state: 'running', file, input },
        ...(sha256 !== undefined && { 'upload.sha256': sha256 }),
        started_at: new Date(clock.now()),
        ...(notices.length > 0 && { notices }),
      },
      $unset: { reader: 1 },
    },
    job.reader === undefined ? {} : { 'reader.id': job.reader.id },
  );
  if (running === undefined) throw new NoLongerReading('the job left the state reading before its end was stored');
  logger.info({ job: job._id, rows: file.rows, slices: file.slices }, 'bulk job read');
  deps.onRunning(file);
}

/**
 * Removes the slices of a job that was canceled while it was read. The job may even be removed: nothing would lead to
 * them any more. A job that another runner has read keeps them.
 */
export async function removeUnused(
  { _id }: Pick<Job, '_id'>,
  { jobs, slices }: Pick<EndReadingDeps, 'jobs' | 'slices'>,
): Promise<void> {
  const now = await jobs.findById(_id);
  if (now === undefined || (hasEnded(now) && now.file === undefined)) await slices.removeJob(_id);
}

/** A job whose usage is not known goes on without the notice. It pauses where the month is full. */
async function quotaNoticesOf(job: Job, rows: number, deps: EndReadingDeps): Promise<string[]> {
  const { workspaces, metering, clock, logger } = deps;
  try {
    const workspace = await workspaces.workspace(job.org);
    if (workspace === undefined) return [];
    const usage = await metering.usage(workspace.organisation, job.bucket);
    const notice = quotaNotice(job, rows, { usage, nowMs: clock.now() });
    return notice === undefined ? [] : [notice];
  } catch (error) {
    logger.warn({ job: job._id, error }, 'the usage of the month is not known: the job has no notice about its room');
    return [];
  }
}

/** @returns whether the job has failed: it may have been canceled meanwhile */
export async function failJob(job: Job, error: InputFault | ApiError, deps: EndReadingDeps): Promise<boolean> {
  const { jobs, slices, clock, logger, retentionMs } = deps;
  const { line, column } = error instanceof InputFault ? error : {};
  const failure = {
    message: messageOf(error),
    ...(line === undefined ? {} : { line }),
    ...(column === undefined ? {} : { column }),
  };
  const failed = await jobs.change(job._id, ['reading'], {
    $set: { state: 'failed', failure, ...endedAt(clock.now(), retentionMs) },
  });
  if (failed === undefined) {
    await removeUnused(job, deps);
    return false;
  }
  await slices.removeJob(job._id);
  // Not the message: it may quote the file.
  logger.info({ job: job._id, line, column }, 'the file of a bulk job cannot be read');
  return true;
}
