import { ApiError } from '../../../shared/contract/errors.js';
import { jobIdOf } from '../../../shared/contract/identifiers.js';
import { allows } from '../../../shared/contract/roles.js';
import { type Job, jobLimits, noTotals } from '../../../shared/store/jobs/job-documents.js';
import type { ReceivedCall } from '../../request/receive-call.js';
import type { JobRequest } from '../../schemas/job-request.js';

/** A job that does not end is removed after this time. */
const maxLifeMs = 90 * 24 * 60 * 60 * 1_000;

/** The call that creates a job. */
type Creation = Pick<ReceivedCall, 'callId' | 'apiKey' | 'atMs' | 'idempotency'> & Pick<Job, 'person'>;

/** @param version of the model that scores its rows */
export function newJob({ callId, apiKey, atMs, idempotency, person }: Creation, request: JobRequest, version: string) {
  const { input = {}, output = {} } = request;
  const job: Job = {
    _id: jobIdOf(callId),
    org: apiKey.organisation_id,
    key: apiKey._id,
    ...(!allows(apiKey, 'read') && { hides_stored: true }),
    ...(person !== undefined && { person }),
    bucket: apiKey.kind,
    model: request.model_id,
    version,
    options: {
      format: input.format ?? 'csv',
      ...(input.crm_id_field === undefined ? {} : { crm_id_field: input.crm_id_field }),
      ...(input.bytes === undefined ? {} : { bytes: input.bytes }),
      ...(input.name === undefined ? {} : { name: input.name }),
      ...(input.sha256 === undefined ? {} : { sha256: input.sha256 }),
      include_input: output.include_input ?? true,
      explain: request.explain ?? false,
      stop_at: request.stop_at ?? 'limit',
      max_errors: request.max_errors ?? jobLimits.defaultMaxErrors,
      previous: request.previous ?? true,
      ...(request.strict === true && { strict: true }),
    },
    state: 'awaiting_upload',
    ...(idempotency === undefined ? {} : { idempotency: { key: idempotency.key, body_hash: idempotency.bodyHash } }),
    upload: input.bytes === undefined ? {} : { length: input.bytes },
    settled: noTotals,
    revision: 0,
    created_at: new Date(atMs),
    purge_at: new Date(atMs + maxLifeMs),
  };
  return job;
}

export const tooManyJobs = (): ApiError =>
  new ApiError(
    'jobLimitExceeded',
    `The workspace has ${jobLimits.unfinishedJobs} unfinished jobs, as many as it may have: wait until one has ended, or ` +
      'cancel one.',
    { retryAfterSeconds: 60 },
  );
