import { count, described, describedObject, flag, instant, list, text } from '../../shared/contract/schema.js';
import { jobStates, pauseReasons } from '../../shared/store/jobs/job-documents.js';
import { jobInputSummarySchema } from './scoring/input-report.js';
import { modelIdSchema } from './scoring/score-request.js';
import { testSchema } from './scoring/score-response.js';
import { usageSchema } from './usage.js';
import { validationSchema } from './validation.js';

const formatSchema = {
  type: 'string',
  enum: ['csv', 'jsonl'],
  description: 'The format of the file and of its results.',
} as const;

const inputSchema = describedObject('The file and its upload, or the stored leads.', {
  'source?': {
    type: 'string',
    enum: ['stored'],
    description: 'The job has no file, and scores stored leads again. Absent for a job with a file.',
  },
  'sent_within_days?': described('With `source`: the leads were sent in so many days before the job.', count),
  'max_rows?': described('With `source`: so many leads at most, which were sent last.', count),
  format: formatSchema,
  'crm_id_field?': described('The column or member with your ids, if you named one.', text),
  'name?': described('The name of the file, if you gave one.', text),
  'sha256?': described('SHA-256 of the file in hex: as you named it, or as it was read.', text),
  bytes_received: described('Bytes of the file that are stored.', count),
  'bytes?': described('Bytes of the whole file, once they are known.', count),
});

const outputSchema = describedObject('The form of the results.', {
  format: described('The format of the results.', formatSchema),
  include_input: described('Whether a result repeats the values of its row.', flag),
});

const progressSchema = describedObject('The rows so far.', {
  rows: { type: ['integer', 'null'], minimum: 0, description: 'Rows of the file; null until it is read.' },
  scored: described('Rows that were scored and counted.', count),
  failed: described('Rows that could not be scored. They are not counted.', count),
  empty: described('Rows without a value. They are not counted.', count),
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

const pauseSchema = describedObject('Why a `paused` job does not go on.', {
  reason: {
    type: 'string',
    enum: pauseReasons,
    description:
      '`requested`: by a call. `quota_exceeded`: the month has no room. `too_many_errors`: more rows failed than ' +
      '`max_errors`. `model_unavailable` and `scoring_failed`: slices failed again and again. All others: the answer that ' +
      '`POST /v1/score` gives.',
  },
  message: described('The reason in words, for people.', text),
  'resumes_at?': described('When the job goes on by itself. Absent if it waits for a call.', instant),
});

const failureSchema = describedObject('Why a `failed` job cannot be read.', {
  message: described('The problem in words, for people.', text),
  'line?': described('Its line in the file, from 1.', count),
  'column?': described('Its column, from 1.', count),
});

/** V1Job. */
export const jobSchema = describedObject('A bulk job: one file, or stored leads, that are scored.', {
  job_id: described('The id of the job.', text, { examples: ['job_4kTq9Z01kb3f7q0h8m2v5t6w9x'] }),
  state: {
    type: 'string',
    enum: jobStates,
    description:
      '`awaiting_upload`: for at most 24 hours. `reading`: the file is checked and cut into slices. `running` and ' +
      '`paused`: see `pause`. `completed`, `canceled` and `failed` are final.',
  },
  model_id: described('The model that scores.', modelIdSchema),
  model_version: described('The version that scores all rows: the current one at the creation.', text),
  created_at: described('When the job was created (UTC).', instant),
  'started_at?': described('When scoring began.', instant),
  'ended_at?': described('When the job reached a final state.', instant),
  input: inputSchema,
  output: outputSchema,
  explain: described('Whether the results have reasons.', flag),
  stop_at: { type: 'string', enum: ['limit', 'backstop'], description: 'Where the job pauses in the month.' },
  max_errors: described('The job pauses when more rows than this have failed.', count),
  previous: described('Whether the earlier scores of leads are looked up.', flag),
  strict: described('Whether a file with columns or members that the model does not know is refused.', flag),
  progress: progressSchema,
  // By itself: with another description it would have a second definition of one name in generated clients.
  'input_summary?': jobInputSummarySchema,
  'pause?': pauseSchema,
  'error?': failureSchema,
  'notices?': described(
    'Sentences about the file: rows that were passed over or read in an unusual way, rows with a `crm_id` that an ' +
      'earlier row has, fields that the file lacks, names that the model does not know, fields of whose values it ' +
      'could use none, and where the job will pause. In the reply of its creation, about an empty `Idempotency-Key`.',
    list(text),
  ),
  usage: usageSchema,
  validation: validationSchema,
  expires_at: described('When the job is removed with its files. It changes when the job ends.', instant),
  'test?': testSchema,
});

/** The number of jobs on a page of the list. */
export const jobLimitSchema = { type: 'integer', minimum: 1, maximum: 200, default: 50 } as const;

/** The reply of `GET /v1/jobs`. */
export const jobListSchema = describedObject("A page of the key's jobs.", {
  jobs: described('The jobs, newest first.', list(jobSchema)),
  'next_cursor?': described('Send it as `cursor` to read the next page. Absent on the last page.', text),
});
