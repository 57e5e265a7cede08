import { closedObject, count, countOrNull, instant, list, text } from '../../contract/schema.js';
import { bucket, organisationId } from './members.js';

/** A bulk job as operators see it: without the columns and rows of its file. */
export const jobSchema = closedObject({
  job_id: text,
  org_id: text,
  /** Id of the API key that created it. */
  key_id: text,
  kind: bucket,
  state: text,
  'pause?': closedObject({ reason: text, message: text, 'resumes_at?': instant }),
  'error?': closedObject({ message: text }),
  model_id: text,
  model_version: text,
  progress: closedObject({
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

export const listJobsInput = closedObject({
  org_id: organisationId,
  'limit?': { type: 'integer', minimum: 1, maximum: 1_000 },
});
export const listJobsOutput = closedObject({ jobs: list(jobSchema) });
