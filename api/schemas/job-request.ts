import { described, describedObject, flag, type ShapeOf } from '../../shared/contract/schema.js';
import { jobLimits } from '../../shared/store/jobs/job-documents.js';
import { storedLimits } from '../../shared/store/jobs/job-options.js';
import { modelIdSchema } from './scoring/score-request.js';
import { sha256Pattern } from './validator.js';

const formatSchema = {
  type: 'string',
  enum: ['csv', 'jsonl'],
  description: 'The format of the file, and of its results. Absent: `csv`.',
} as const;

/** Also a filter of `GET /v1/jobs`. */
export const inputNameSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  pattern: '^[^\\u0000]*$',
  format: 'well-formed-text',
  description: 'The name of the file, for people.',
  examples: ['leads.csv'],
} as const;

/** Also a filter of `GET /v1/jobs`. */
export const inputSha256Schema = {
  type: 'string',
  pattern: sha256Pattern,
  description: 'SHA-256 of the file as you send it, in lower-case hex. Another file makes the job `failed`.',
  examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
} as const;

const storedDaysSchema = {
  type: 'integer',
  minimum: 1,
  maximum: storedLimits.days,
  description:
    'With `source: stored` alone: leads that were sent to the model in so many days. Scores of earlier jobs of stored ' +
    `leads do not count. Absent: ${storedLimits.defaultDays}.`,
} as const;
const storedRowsSchema = {
  type: 'integer',
  minimum: 1,
  maximum: storedLimits.rows,
  description:
    'With `source: stored` alone: the number of leads. The leads that were sent last come first. Each one is counted. ' +
    `Absent: ${storedLimits.rows}.`,
} as const;

const inputSchema = describedObject(
  'The form of the file, or the stored leads that are scored again.',
  {
    'source?': {
      type: 'string',
      enum: ['upload', 'stored'],
      description:
        '`upload`: a file. `stored`: the leads that the model has scored, from the values of their newest calls. ' +
        'Nothing is uploaded, and a key with scopes needs `read` too. Absent: `upload`.',
    },
    'sent_within_days?': storedDaysSchema,
    'max_rows?': storedRowsSchema,
    'format?': formatSchema,
    'crm_id_field?': {
      type: 'string',
      minLength: 1,
      maxLength: 255,
      pattern: '^[^\\u0000]*$',
      format: 'well-formed-text',
      description: 'The column or member with your ids of the records. Absent: `crm_id`, if the file has it.',
      examples: ['Lead ID'],
    },
    'bytes?': {
      type: 'integer',
      minimum: 1,
      maximum: jobLimits.uploadBytes,
      description:
        'Bytes of the file as you send it. Clients of tus need it: HEAD then has `Upload-Length`. A file of another ' +
        'length is refused.',
      examples: [81_264_402],
    },
    'name?': inputNameSchema,
    'sha256?': inputSha256Schema,
  },
  { additionalProperties: false },
);

const outputSchema = describedObject(
  'The form of the results. Their format is that of the file.',
  { 'include_input?': described('Whether a result repeats the values of its row. Absent: true.', flag) },
  { additionalProperties: false },
);

/** The body of `POST /v1/jobs`. */
export const jobRequestSchema = describedObject(
  'A model, and the form of a file or the stored leads to score with it. A member that is not known is refused by name.',
  {
    model_id: modelIdSchema,
    'input?': inputSchema,
    'output?': outputSchema,
    'explain?': described(
      'True adds `top_reason_1` to `top_reason_3` to each row, and `drivers` in JSON Lines. Absent: false.',
      flag,
    ),
    'stop_at?': {
      type: 'string',
      enum: ['limit', 'backstop'],
      description:
        "Where the job pauses in the month: at the plan's limit, or at the backstop, the end of the grace band. Absent: " +
        '`limit`.',
    },
    'max_errors?': {
      type: 'integer',
      minimum: 0,
      maximum: jobLimits.maxErrors,
      description: `The job pauses when more rows than this have failed. Absent: ${jobLimits.defaultMaxErrors}.`,
    },
    'previous?': described(
      'Whether the earlier scores of leads are looked up, for `previous_score`, `enriched` and values that were not ' +
        'sent. False is faster. Absent: true.',
      flag,
    ),
    'strict?': described(
      'True refuses a file with a column that the model does not know, or such a member in the first 1000 records: the ' +
        'job becomes `failed`, and nothing is counted. Absent: false.',
      flag,
    ),
  },
  { additionalProperties: false },
);

/** A validated body. */
export type JobRequest = ShapeOf<typeof jobRequestSchema>;
