import { jobStates, pauseReasons } from '../../shared/store/jobs/job-documents.js';
import { countSchema, instantSchema, objectSchema } from './object-schema.js';
import { modelIdSchema } from './scoring/score-request.js';
import { testSchema } from './scoring/score-response.js';
import { usageSchema } from './usage.js';
import { validationSchema } from './validation.js';

const formatSchema = {
  type: 'string',
  enum: ['csv', 'jsonl'],
  description: 'The format of the file and of its results.',
} as const;

const inputSchema = objectSchema('The file and its upload.', {
  format: formatSchema,
  'crm_id_field?': { type: 'string', description: 'The column or member with your ids, if you named one.' },
  bytes_received: countSchema('Bytes of the file that are stored.'),
  'bytes?': countSchema('Bytes of the whole file, once they are known.'),
});

const outputSchema = objectSchema('The form of the results.', {
  format: { ...formatSchema, description: 'The format of the results.' },
  include_input: { type: 'boolean', description: 'Whether a result repeats the values of its row.' },
});

const progressSchema = objectSchema('The rows so far.', {
  rows: { type: ['integer', 'null'], minimum: 0, description: 'Rows of the file; null until it is read.' },
  scored: countSchema('Rows that were scored and counted.'),
  failed: countSchema('Rows that could not be scored. They are not counted.'),
  empty: countSchema('Rows without a value. They are not counted.'),
  rows_per_second: {
    type: ['number', 'null'],
    minimum: 0,
    description: 'The mean rate since scoring began; null before that.',
  },
  seconds_left: {
    type: ['integer', 'null'],
    minimum: 0,
    description: 'An estimate; null while the job does not run, or when its rate is not known.',
  },
});

const pauseSchema = objectSchema('Why a `paused` job does not go on.', {
  reason: {
    type: 'string',
    enum: pauseReasons,
    description:
      '`requested`: by a call. `quota_exceeded`: the month has no room. `too_many_errors`: more rows failed than ' +
      '`max_errors`. `model_unavailable` and `scoring_failed`: slices failed again and again. All others: the answer that ' +
      '`POST /v1/score` gives.',
  },
  message: { type: 'string', description: 'The reason in words, for people.' },
  'resumes_at?': instantSchema('When the job goes on by itself. Absent if it waits for a call.'),
});

const failureSchema = objectSchema('Why a `failed` job cannot be read.', {
  message: { type: 'string', description: 'The problem in words, for people.' },
  'line?': countSchema('Its line in the file, from 1.'),
  'column?': countSchema('Its column, from 1.'),
});

/** V1Job. */
export const jobSchema = objectSchema('A bulk job: one file that is scored.', {
  job_id: { type: 'string', description: 'The id of the job.', examples: ['job_4kTq9Z01kb3f7q0h8m2v5t6w9x'] },
  state: {
    type: 'string',
    enum: jobStates,
    description:
      '`awaiting_upload`: for at most 24 hours. `reading`: the file is checked and cut into slices. `running` and ' +
      '`paused`: see `pause`. `completed`, `canceled` and `failed` are final.',
  },
  model_id: { ...modelIdSchema, description: 'The model that scores.' },
  model_version: { type: 'string', description: 'The version that scores all rows: the current one at the creation.' },
  created_at: instantSchema('When the job was created (UTC).'),
  'started_at?': instantSchema('When scoring began.'),
  'ended_at?': instantSchema('When the job reached a final state.'),
  input: inputSchema,
  output: outputSchema,
  explain: { type: 'boolean', description: 'Whether the results have reasons.' },
  stop_at: { type: 'string', enum: ['limit', 'backstop'], description: 'Where the job pauses in the month.' },
  max_errors: countSchema('The job pauses when more rows than this have failed.'),
  previous: { type: 'boolean', description: 'Whether the earlier scores of leads are looked up.' },
  progress: progressSchema,
  'pause?': pauseSchema,
  'error?': failureSchema,
  'notices?': {
    type: 'array',
    items: { type: 'string' },
    description:
      'Sentences about the file: the footer of a report that was passed over, rows with fewer cells than the header, and ' +
      'rows with a `crm_id` that an earlier row has.',
  },
  usage: usageSchema,
  validation: validationSchema,
  expires_at: instantSchema('When the job is removed with its files. It changes when the job ends.'),
  'test?': testSchema,
});

/** The number of jobs on a page of the list. */
export const jobLimitSchema = { type: 'integer', minimum: 1, maximum: 200, default: 50 } as const;

/** The reply of `GET /v1/jobs`. */
export const jobListSchema = objectSchema("A page of the key's jobs.", {
  jobs: { type: 'array', items: jobSchema, description: 'The jobs, newest first.' },
  'next_cursor?': {
    type: 'string',
    description: 'Send it as `cursor` to read the next page. Absent on the last page.',
  },
});
