import type { Context } from 'koa';
import type { Clock } from '../../../shared/contract/dates.js';
import { ApiError } from '../../../shared/contract/errors.js';
import type { TurnQueue } from '../../../shared/messages/turn-queue.js';
import type { Logger } from '../../../shared/process/logger.js';
import type { Job } from '../../../shared/store/jobs/job-documents.js';
import type { SliceStore } from '../../../shared/store/jobs/job-slices.js';
import type { JobOwner } from '../../../shared/store/jobs/jobs.js';
import type { UploadStores } from '../../../shared/store/jobs/upload-session.js';
import type { TransferPermits } from '../../request/uploads/transfer-permits.js';
import { pathParameter, type Reader, type ReadingDeps, type SessionReadingDeps } from '../reading.js';
import { type JobReplyDeps, jobReplies } from './job-reply.js';

/** Dependencies of the endpoints of bulk jobs, by key or by session. */
export interface JobDeps {
  readonly reading: ReadingDeps | SessionReadingDeps;
  readonly replies: JobReplyDeps;
  readonly stores: UploadStores & { readonly slices: SliceStore };
  readonly clock: Clock;
  /** Time after which an ended job is removed. */
  readonly retentionMs: number;
  /** An upload ends after this time without a byte. */
  readonly uploadSilenceMs: number;
  /** Organisations with files to read. */
  readonly waiting: Pick<TurnQueue, 'add'>;
  readonly uploads: TransferPermits;
  readonly downloads: TransferPermits;
  readonly logger: Logger;
}

/** The jobs that a caller may see. */
export const ownerOf = ({ apiKey }: Pick<Reader, 'apiKey'>): JobOwner => ({
  organisationId: apiKey.organisation_id,
  bucket: apiKey.kind,
});

/**
 * The job in the address.
 * @throws ApiError notFound, in the same words whether another caller has it or not
 */
export async function requireJob(context: Context, reader: Reader, { stores }: JobDeps): Promise<Job> {
  const job = await stores.jobs.find(pathParameter(context, 'job_id'), ownerOf(reader));
  if (job === undefined) throw unknownJob();
  return job;
}

const unknownJob = (): ApiError =>
  new ApiError('notFound', 'The workspace of the key has no job with this job_id, or a key of the other kind made it.');

/** The state of a job does not allow a call. @param allowed a sentence on the states that do */
export const stateConflict = ({ state }: Pick<Job, 'state'>, allowed: string): ApiError =>
  new ApiError('jobStateConflict', `The job is in the state ${state}. ${allowed}`);

/** One job as V1Job. */
export async function oneJob(
  job: Job,
  reader: Reader,
  { replies }: Pick<JobDeps, 'replies'>,
): Promise<Record<string, unknown>> {
  const [reply] = await jobReplies([job], reader, replies);
  return reply ?? {};
}
