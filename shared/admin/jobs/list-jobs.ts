import type { ShapeOf } from '../../contract/schema.js';
import { usageBuckets } from '../../redis/keys.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import type { Job } from '../../store/jobs/job-documents.js';
import { JobStore } from '../../store/jobs/jobs.js';
import { defineAction } from '../action.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { type jobSchema, listJobsInput, listJobsOutput } from '../schemas/jobs.js';

const defaultLimit = 20;

/** The bulk jobs of an organisation, of all its keys. */
export const listJobs = defineAction({
  name: 'job.list',
  description: "List an organisation's bulk jobs, of all keys, newest first.",
  role: 'operator',
  effect: 'read',
  input: listJobsInput,
  output: listJobsOutput,
  async run({ database }, { org_id: organisationId, limit = defaultLimit }) {
    await requireOrganisation(new OrganisationStore(database), organisationId);
    const store = new JobStore(database);
    const found = await Promise.all(usageBuckets.map((bucket) => store.list({ organisationId, bucket }, { limit })));
    // Ids of jobs are ordered by time.
    const newestFirst = found.flat().toSorted((one, other) => (one._id < other._id ? 1 : -1));
    return { jobs: newestFirst.slice(0, limit).map(jobDocument) };
  },
});

/** A job without the columns and rows of its file. */
const jobDocument = (job: Job): ShapeOf<typeof jobSchema> => ({
  job_id: job._id,
  org_id: job.org,
  key_id: job.key,
  kind: job.bucket,
  state: job.state,
  ...(job.pause === undefined ? {} : { pause: pauseDocument(job.pause) }),
  ...(job.failure === undefined ? {} : { error: { message: job.failure.message } }),
  model_id: job.model,
  model_version: job.version,
  progress: {
    rows: job.file?.rows ?? null,
    scored: job.settled.scored,
    failed: job.settled.failed,
    empty: job.settled.empty,
  },
  created_at: job.created_at.toISOString(),
  ...(job.ended_at === undefined ? {} : { ended_at: job.ended_at.toISOString() }),
  expires_at: job.purge_at.toISOString(),
});

const pauseDocument = ({ reason, message, resume_at: resumeAt }: NonNullable<Job['pause']>) => ({
  reason,
  message,
  ...(resumeAt === undefined ? {} : { resumes_at: resumeAt.toISOString() }),
});
