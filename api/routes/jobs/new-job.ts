import { ApiError } from '../../../shared/contract/errors.js';
import type { ApiKey } from '../../../shared/store/accounts/api-keys.js';
import { type Job, jobLimits } from '../../../shared/store/jobs/job-documents.js';
import { type JobOptions, type StoredLeads, storedLimits } from '../../../shared/store/jobs/job-options.js';
import { jobDocument } from '../../../shared/store/jobs/new-job.js';
import { requireRead } from '../../auth/scopes.js';
import type { ReceivedCall } from '../../request/receive-call.js';
import type { JobRequest } from '../../schemas/job-request.js';

/** The call that creates a job. */
type Creation = Pick<ReceivedCall, 'callId' | 'apiKey' | 'atMs' | 'idempotency'> & Pick<Job, 'person'>;

/**
 * The stored leads that a request names.
 * @returns undefined for a job of a file
 * @throws ApiError unreadableRequest for members that do not belong together; refusedRequest, insufficientScope for a
 * key that may not read stored leads
 */
function storedLeadsOf({ input = {}, output = {}, strict }: JobRequest, apiKey: ApiKey): StoredLeads | undefined {
  const { source, sent_within_days: days, max_rows: maxRows, ...ofFile } = input;
  if (source !== 'stored') {
    if (days === undefined && maxRows === undefined) return undefined;
    throw new ApiError(
      'unreadableRequest',
      'input.sent_within_days and input.max_rows select stored leads: send "source": "stored" in "input" too, or leave ' +
        'them out.',
    );
  }
  const { format: _, name: __, ...others } = ofFile;
  const wrong = [
    ...Object.keys(others).map((name) => `input.${name}`),
    ...(output.include_input === true ? ['output.include_input'] : []),
    ...(strict === true ? ['strict'] : []),
  ];
  if (wrong.length > 0)
    throw new ApiError(
      'unreadableRequest',
      `A job of stored leads has no file, and these members are about one: ${wrong.join(', ')}. Leave them out.`,
    );
  if (apiKey.kind === 'test')
    throw new ApiError(
      'refusedRequest',
      'Calls of test keys are not stored, so a test key has no stored leads. Create the job with a live key.',
    );
  requireRead(apiKey, 'A job of stored leads');
  return { sent_within_days: days ?? storedLimits.defaultDays, max_rows: maxRows ?? storedLimits.rows };
}

/** @param version of the model that scores its rows */
export function newJob({ apiKey, ...creation }: Creation, request: JobRequest, version: string): Job {
  const { input = {}, output = {} } = request;
  const stored = storedLeadsOf(request, apiKey);
  const options: JobOptions = {
    format: input.format ?? 'csv',
    ...(stored !== undefined && { stored }),
    ...(input.crm_id_field === undefined ? {} : { crm_id_field: input.crm_id_field }),
    ...(input.bytes === undefined ? {} : { bytes: input.bytes }),
    ...(input.name === undefined ? {} : { name: input.name }),
    ...(input.sha256 === undefined ? {} : { sha256: input.sha256 }),
    include_input: stored === undefined && (output.include_input ?? true),
    explain: request.explain ?? false,
    stop_at: request.stop_at ?? 'limit',
    max_errors: request.max_errors ?? jobLimits.defaultMaxErrors,
    previous: request.previous ?? true,
    ...(request.strict === true && { strict: true }),
  };
  return jobDocument({ ...creation, apiKey, model: request.model_id, version, options });
}

export const tooManyJobs = (): ApiError =>
  new ApiError(
    'jobLimitExceeded',
    `The workspace has ${jobLimits.unfinishedJobs} unfinished jobs, as many as it may have: wait until one has ended, or ` +
      'cancel one.',
    { retryAfterSeconds: 60 },
  );
