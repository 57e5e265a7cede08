import type { ShapeOf } from '../../contract/schema.js';
import { ApiKeyStore } from '../../store/accounts/api-keys.js';
import type { Db } from '../../store/connection/connect.js';
import { consoleKeyId } from '../../store/jobs/create-job.js';
import type { Job } from '../../store/jobs/job-documents.js';
import { ModelStore } from '../../store/models/models.js';
import type { jobSchema } from '../schemas/jobs.js';

/** The names of the keys and models of an organisation, by id. */
interface JobNames {
  readonly keys: ReadonlyMap<string, string>;
  readonly models: ReadonlyMap<string, string>;
}

export async function jobNames(database: Db, organisationId: string): Promise<JobNames> {
  const [keys, models] = await Promise.all([
    new ApiKeyStore(database).list(organisationId),
    new ModelStore(database).list(organisationId),
  ]);
  const named = (each: { readonly _id: string; readonly name: string }) => [each._id, each.name] as const;
  return { keys: new Map(keys.map(named)), models: new Map(models.map(named)) };
}

/** A job without the columns and rows of its file. */
export function jobDocument(job: Job, { keys, models }: JobNames): ShapeOf<typeof jobSchema> {
  const modelName = models.get(job.model);
  const creator = job.key === consoleKeyId ? 'the console' : job.key;
  return {
    job_id: job._id,
    org_id: job.org,
    key_id: job.key,
    created_by: job.person ?? keys.get(job.key) ?? creator,
    kind: job.bucket,
    state: job.state,
    ...(job.pause === undefined ? {} : { pause: pauseDocument(job.pause) }),
    ...(job.failure === undefined ? {} : { error: failureDocument(job.failure) }),
    model_id: job.model,
    ...(modelName === undefined ? {} : { model_name: modelName }),
    model_version: job.version,
    ...(job.options.name === undefined ? {} : { name: job.options.name }),
    ...(job.options.stored === undefined ? {} : { source: 'stored' as const }),
    progress: {
      rows: job.file?.rows ?? null,
      scored: job.settled.scored,
      failed: job.settled.failed,
      empty: job.settled.empty,
    },
    created_at: job.created_at.toISOString(),
    ...(job.ended_at === undefined ? {} : { ended_at: job.ended_at.toISOString() }),
    expires_at: job.purge_at.toISOString(),
  };
}

/** Why a job waits, as replies of the API and of the console have it. */
export const pauseDocument = ({ reason, message, resume_at: resumeAt }: NonNullable<Job['pause']>) => ({
  reason,
  message,
  ...(resumeAt === undefined ? {} : { resumes_at: resumeAt.toISOString() }),
});

/** Why a job failed, with the place in its file if there is one. */
export const failureDocument = ({ message, line, column }: NonNullable<Job['failure']>) => ({
  message,
  ...(line === undefined ? {} : { line }),
  ...(column === undefined ? {} : { column }),
});
