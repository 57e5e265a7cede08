import { AdminError, notFound } from '../../../shared/admin/admin-error.js';
import { jobDocument, jobNames } from '../../../shared/admin/jobs/job-document.js';
import type { jobPageSchema } from '../../../shared/admin/schemas/jobs.js';
import type { ShapeOf } from '../../../shared/contract/schema.js';
import type { UsageBucket } from '../../../shared/redis/keys.js';
import type { ApiKey } from '../../../shared/store/accounts/api-keys.js';
import { consoleKeyId } from '../../../shared/store/jobs/create-job.js';
import type { Job } from '../../../shared/store/jobs/job-documents.js';
import type { Admission } from '../../admission/admission.js';
import type { AdmissionCaches } from '../../admission/caches.js';
import { type JobDeps, oneJob } from '../../routes/jobs/job-access.js';
import type { Reader } from '../../routes/reading.js';
import type { jobSchema } from '../../schemas/job.js';

/** The services of the console's pages of bulk jobs. */
export interface ConsoleJobs extends Omit<JobDeps, 'reading'> {
  readonly admission: Pick<Admission, 'admit'>;
  /** Empty caches: a change is seen at once. */
  readonly caches: () => AdmissionCaches;
  readonly newCallId: (nowMs: number, organisationId: string) => string;
  /** Deadline of a call, ms. The time in which a body arrives does not count. */
  readonly timeoutMs: number;
}

/** The key of the calls of jobs that people create. It has no secret, so no call can be made with it. */
export const consoleKey = (organisationId: string, kind: UsageBucket = 'live'): ApiKey => ({
  _id: consoleKeyId,
  hash: '',
  organisation_id: organisationId,
  kind,
  name: 'Console',
  rate_per_second: 0,
  created_at: new Date(0),
});

/** @throws AdminError not_found */
export async function readerOf(
  { caches }: Pick<ConsoleJobs, 'caches'>,
  organisationId: string,
  kind: UsageBucket,
): Promise<Reader> {
  const workspace = await caches().workspaces.workspace(organisationId);
  if (workspace === undefined) throw notFound('organisation', organisationId);
  return { ...workspace, apiKey: consoleKey(organisationId, kind) };
}

/**
 * A job of an organisation, of the console or of any key.
 * @throws AdminError not_found, in the same words whether another organisation has it or not
 */
export async function requireJobOf(
  { stores }: Pick<ConsoleJobs, 'stores'>,
  { org_id: organisationId, job_id: id }: { readonly org_id: string; readonly job_id: string },
): Promise<Job> {
  const job = await stores.jobs.findById(id);
  if (job?.org === organisationId) return job;
  throw new AdminError('not_found', `There is no job ${id}`);
}

type Page = ShapeOf<typeof jobPageSchema>;

/** A job on its own page: as the API shows it, with the names of its model and its creator. */
export async function pageOf(job: Job, jobs: ConsoleJobs): Promise<Page> {
  const [reader, names] = await Promise.all([
    readerOf(jobs, job.org, job.bucket),
    jobNames(jobs.stores.database, job.org),
  ]);
  const shown = await oneJob(job, reader, { replies: jobs.replies });
  const { input, output, progress, usage, notices = [], ...reply } = shown as unknown as ShapeOf<typeof jobSchema>;
  const { explain, previous, strict, stop_at, max_errors, input_summary: summary } = reply;
  const { rows_per_second, seconds_left } = progress;
  return {
    ...jobDocument(job, names),
    upload: {
      format: input.format,
      received: input.bytes_received,
      ...(input.bytes !== undefined && { bytes: input.bytes }),
      ...(job.fingerprint !== undefined && { fingerprint: job.fingerprint }),
    },
    pace: { rows_per_second, seconds_left },
    options: {
      ...job.options.stored,
      ...(input.crm_id_field !== undefined && { crm_id_field: input.crm_id_field }),
      include_input: output.include_input,
      ...{ explain, previous, strict, stop_at, max_errors },
    },
    ...(summary !== undefined && { input_summary: summary as NonNullable<Page['input_summary']> }),
    notices,
    usage,
  };
}
