import { createHash, type Hash } from 'node:crypto';
import type { Clock } from '../../shared/contract/dates.js';
import { ApiError, messageOf } from '../../shared/contract/errors.js';
import { allowanceOf } from '../../shared/contract/plans.js';
import type { Logger } from '../../shared/process/logger.js';
import { endedAt, hasEnded, type Job, jobLimits, maxStoredBytes } from '../../shared/store/jobs/job-documents.js';
import type { SliceStore } from '../../shared/store/jobs/job-slices.js';
import type { JobUploadStore } from '../../shared/store/jobs/job-uploads.js';
import type { JobStore } from '../../shared/store/jobs/jobs.js';
import type { WorkspaceCache } from '../admission/workspace-cache.js';
import type { ScoringServices } from '../services.js';
import { quotaNotice } from './quota-notice.js';
import { InputFault, readInput } from './reading/read-input.js';
import { countedFields, unreadInput } from './rows/input-counts.js';

export interface ReadJobDeps extends Pick<ScoringServices, 'metering'> {
  readonly jobs: JobStore;
  readonly slices: SliceStore;
  readonly uploads: JobUploadStore;
  readonly workspaces: Pick<WorkspaceCache, 'manifest' | 'workspace'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly retentionMs: number;
  /** Aborted when the process stops. Reading begins again elsewhere. */
  readonly stopping: AbortSignal;
  /** Called when the rows of the job can be scored, before its upload is removed. */
  readonly onRunning: (file: NonNullable<Job['file']>) => void;
}

const progressEveryMs = 1_000;

/** The job was canceled, or read by another runner, while its file was read. */
class NoLongerReading extends Error {
  override name = 'NoLongerReading';
}

/**
 * Reads the uploaded file of a job and cuts it into slices. A file that cannot be read makes the job `failed`, with a
 * sentence for people. After a crash, reading begins again: slices that exist stay, because the cuts are the same.
 * @throws errors of MongoDB; the reason of `stopping`
 */
export async function readJob(job: Job, deps: ReadJobDeps): Promise<void> {
  const { jobs, slices, uploads, workspaces, clock, logger, stopping } = deps;
  const compiled = await workspaces.manifest(job.model, job.version);
  const left = new AbortController();
  const signal = AbortSignal.any([stopping, left.signal]);
  let readBytes = 0;
  const digest = createHash('sha256');
  const timer = setInterval(() => void storeProgress(), progressEveryMs);
  const storeProgress = async (): Promise<void> => {
    const changed = await jobs.change(job._id, ['reading'], { $set: { read_bytes: readBytes } }).catch(() => job);
    if (changed === undefined) left.abort(new NoLongerReading('the job is no longer in the state reading'));
  };
  try {
    if (compiled === undefined) throw new ApiError('modelNotFound', 'The version of the model is no longer stored.');
    const {
      shape,
      rows,
      slices: count,
      header_line,
      notices: ofFile,
      unknown,
    } = await readInput(hashed(uploads.read(job._id), digest), job.options, {
      knownFields: compiled.knownFields,
      onSlices: (added) =>
        slices.add(
          job._id,
          added.map(({ input, ...slice }) => ({ slice, input })),
        ),
      onProgress: (bytes) => {
        readBytes = bytes;
      },
      signal,
      limits: await limitsOf(job, deps),
    });
    const sha256 = digest.digest('hex');
    refuseOtherFile(job, sha256);
    const model = { id: job.model, version: job.version, knownFields: compiled.knownFields };
    const file = { shape, rows, slices: count, header_line, fields: countedFields(model) };
    const input = unreadInput(model, unknown);
    const notices = [...ofFile, ...(await quotaNoticesOf(job, rows, deps))];
    const running = await jobs.change(job._id, ['reading'], {
      $set: {
        state: 'running',
        file,
        input,
        'upload.sha256': sha256,
        started_at: new Date(clock.now()),
        ...(notices.length > 0 && { notices }),
      },
    });
    if (running === undefined) throw new NoLongerReading('the job left the state reading before its end was stored');
    logger.info({ job: job._id, rows, slices: count }, 'bulk job read');
    deps.onRunning(file);
  } catch (error) {
    if (error instanceof NoLongerReading) return await removeUnused(job, deps);
    if (!(error instanceof InputFault || error instanceof ApiError)) throw error;
    if (!(await failJob(job, error, deps))) return;
  } finally {
    clearInterval(timer);
  }
  await uploads.removeInSteps(job._id, stopping);
}

async function* hashed(pieces: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
}

/** @throws InputFault when the creation named another file */
function refuseOtherFile({ options: { sha256: named } }: Job, sha256: string): void {
  if (named === undefined || named === sha256) return;
  throw new InputFault(
    `The upload is not the file that the job names: its SHA-256 is ${sha256}, and "sha256" of "input" is ${named}. ` +
      'Create a job for this file',
  );
}

/**
 * Removes the slices of a job that was canceled while its file was read. The job may even be removed: nothing would
 * lead to them any more. A job that another runner has read keeps them.
 */
async function removeUnused({ _id }: Job, { jobs, slices }: ReadJobDeps): Promise<void> {
  const now = await jobs.findById(_id);
  if (now === undefined || (hasEnded(now) && now.file === undefined)) await slices.removeJob(_id);
}

/** Text compresses to a tenth. More than twice that is no export of a CRM, and would delay the files of others. */
const inflatedPerStoredByte = 20;

/** The limits of a file. Its inflated size depends on the plan, as that of the upload. */
async function limitsOf(job: Job, { workspaces }: ReadJobDeps): Promise<{ readonly inflatedBytes: number }> {
  const workspace = await workspaces.workspace(job.org);
  const records = workspace === undefined ? 0 : allowanceOf(workspace.organisation, 'live').limit;
  return { inflatedBytes: Math.min(jobLimits.inflatedBytes, inflatedPerStoredByte * maxStoredBytes(records)) };
}

/** A job whose usage is not known goes on without the notice. It pauses where the month is full. */
async function quotaNoticesOf(job: Job, rows: number, deps: ReadJobDeps): Promise<string[]> {
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
async function failJob(job: Job, error: InputFault | ApiError, deps: ReadJobDeps): Promise<boolean> {
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
