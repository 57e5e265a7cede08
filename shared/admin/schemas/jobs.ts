import { bucket, count, countOrNull, instant, list, object, organisationId, text } from './schema.js';

/** A bulk job as operators see it: without the columns and rows of its file. */
export const jobSchema = object({
  job_id: text,
  org_id: text,
  /** Id of the API key that created it. */
  key_id: text,
  kind: bucket,
  state: text,
  'pause?': object({ reason: text, message: text, 'resumes_at?': instant }),
  'error?': object({ message: text }),
  model_id: text,
  model_version: text,
  progress: object({
    /** Null until the file has been read. */
    rows: countOrNull,
    scored: count,
    failed: count,
    empty: count,
  }),
  created_at: instant,
  'ended_at?': instant,
  /** When its files are removed. */
  expires_at: instant,
});

export const listJobsInput = object({
  org_id: organisationId,
  'limit?': { type: 'integer', minimum: 1, maximum: 1_000 },
});
export const listJobsOutput = object({ jobs: list(jobSchema) });
