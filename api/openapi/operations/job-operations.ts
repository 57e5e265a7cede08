import type { ErrorName } from '../../../shared/contract/errors.js';
import { jobListSchema, jobSchema } from '../../schemas/job.js';
import { jobRequestSchema } from '../../schemas/job-request.js';
import { headers, parameters, readHeaders, scoredHeaders } from '../components.js';
import { type ErrorResponseOptions, errorResponses } from '../error-responses.js';
import { jsonBody, jsonReply } from '../examples.js';
import type { Operation, Response } from '../openapi-types.js';

const tags = ['Bulk jobs'];

/** The errors of every endpoint of a job, besides those of its own. */
const errorsWith = (names: readonly ErrorName[], options: ErrorResponseOptions): Record<string, Response> =>
  errorResponses(['refusedRequest', 'invalidApiKey', ...names, 'rateLimited', 'internalError'], options);

/** `POST /v1/jobs`. */
export const createJobOperation = (docsUrl: string): Operation => ({
  operationId: 'createJob',
  summary: 'Create a bulk job',
  description:
    'Creates a job that scores one file. Send the file next: `PUT` to `/v1/jobs/{job_id}/input`. With ' +
    '`"input": {"source": "stored"}` it scores the leads again that the model has scored, without a file. A workspace ' +
    'may have 20 unfinished jobs. All rows are scored with the version of the model that is current now. Each scored row counts one ' +
    'towards the month.\n\nAn `Idempotency-Key` holds for as long as the job exists: the same call returns the job as it ' +
    'is then.',
  tags,
  parameters: [parameters.idempotencyKey, parameters.requestId],
  requestBody: {
    description: 'The model, and the form of the file or the stored leads.',
    required: true,
    content: jsonBody(jobRequestSchema, 'job'),
  },
  responses: {
    201: jsonReply(
      { description: 'The job was created.', headers: { ...scoredHeaders, Location: headers.location } },
      jobSchema,
      'job',
    ),
    ...errorsWith(
      [
        ...(['workspaceSuspended', 'expiredReadOnly', 'apiDisabled', 'modelNotFound', 'deployBlocked'] as const),
        ...(['unreadableRequest', 'quotaExceeded', 'jobLimitExceeded'] as const),
      ],
      { docsUrl },
    ),
  },
});

const jobReply = (description: string) => ({
  200: jsonReply({ description, headers: readHeaders }, jobSchema, 'job'),
});

/** `GET /v1/jobs`. */
export const listJobsOperation = (docsUrl: string): Operation => ({
  operationId: 'listJobs',
  summary: 'List bulk jobs',
  description: "Returns the jobs of the workspace and of the key's kind (live or test), newest first, in pages.",
  tags,
  parameters: [
    ...[parameters.jobLimit, parameters.cursor, parameters.jobInputName, parameters.jobInputSha256],
    parameters.requestId,
  ],
  responses: {
    200: jsonReply({ description: 'A page of jobs.', headers: readHeaders }, jobListSchema, 'jobs'),
    ...errorsWith(['unreadableRequest'], { docsUrl }),
  },
});

/** `GET /v1/jobs/{job_id}`. */
export const getJobOperation = (docsUrl: string): Operation => ({
  operationId: 'getJob',
  summary: 'Read a bulk job',
  description: 'Returns the state and the progress of a job.',
  tags,
  parameters: [parameters.jobId, parameters.requestId],
  responses: { ...jobReply('The job.'), ...errorsWith(['notFound'], { docsUrl }) },
});

/** `DELETE /v1/jobs/{job_id}`. */
export const deleteJobOperation = (docsUrl: string): Operation => ({
  operationId: 'deleteJob',
  summary: 'Remove a bulk job',
  description:
    'Removes an ended job with its files at once. Counted usage stays counted. An unfinished job must be canceled first.',
  tags,
  parameters: [parameters.jobId, parameters.requestId],
  responses: {
    204: { description: 'The job and its files are removed.', headers: readHeaders },
    ...errorsWith(['notFound', 'jobStateConflict'], { docsUrl }),
  },
});

const commands = {
  pause: {
    summary: 'Pause a bulk job',
    description:
      'Pauses a running job until it is resumed. Rows that are being scored are finished. A paused job stays paused, also ' +
      'when its month has room again.',
  },
  resume: {
    summary: 'Resume a bulk job',
    description: 'Lets a paused job go on. If the reason of its pause still holds, it pauses again.',
  },
  cancel: {
    summary: 'Cancel a bulk job',
    description: 'Ends an unfinished job. Its results so far can be downloaded, and stay counted.',
  },
} as const;

/** `POST /v1/jobs/{job_id}/pause`, `/resume` and `/cancel`. */
export const jobCommandOperation = (name: keyof typeof commands, docsUrl: string): Operation => ({
  operationId: `${name}Job`,
  ...commands[name],
  tags,
  parameters: [parameters.jobId, parameters.requestId],
  responses: {
    ...jobReply('The job after the call. A call that is sent again returns the same.'),
    ...errorsWith(['notFound', 'jobStateConflict'], { docsUrl }),
  },
});
