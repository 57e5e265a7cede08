import { jobLimits } from '../../shared/store/jobs/job-documents.js';
import { modelIdSchema } from './scoring/score-request.js';

const formatSchema = {
  type: 'string',
  enum: ['csv', 'jsonl'],
  description: 'The format of the file, and of its results. Absent: `csv`.',
} as const;

/** The body of `POST /v1/jobs`. */
export const jobRequestSchema = {
  type: 'object',
  required: ['model_id'],
  properties: {
    model_id: modelIdSchema,
    input: {
      type: 'object',
      properties: {
        format: formatSchema,
        crm_id_field: {
          type: 'string',
          minLength: 1,
          maxLength: 255,
          pattern: '^[^\\u0000]*$',
          format: 'well-formed-text',
          description: 'The column or member with your ids of the records. Absent: `crm_id`, if the file has it.',
          examples: ['Lead ID'],
        },
      },
      additionalProperties: true,
      description: 'The form of the file.',
    },
    output: {
      type: 'object',
      properties: {
        include_input: {
          type: 'boolean',
          description: 'Whether a result repeats the values of its row. Absent: true.',
        },
      },
      additionalProperties: true,
      description: 'The form of the results. Their format is that of the file.',
    },
    explain: {
      type: 'boolean',
      description:
        'True adds `top_reason_1` to `top_reason_3` to each row, and `drivers` in JSON Lines. Absent: false.',
    },
    stop_at: {
      type: 'string',
      enum: ['limit', 'backstop'],
      description:
        "Where the job pauses in the month: at the plan's limit, or at the backstop, the end of the grace band. Absent: " +
        '`limit`.',
    },
    max_errors: {
      type: 'integer',
      minimum: 0,
      maximum: jobLimits.maxErrors,
      description: `The job pauses when more rows than this have failed. Absent: ${jobLimits.defaultMaxErrors}.`,
    },
    previous: {
      type: 'boolean',
      description:
        'Whether the earlier scores of leads are looked up, for `previous_score`, `enriched` and values that were not ' +
        'sent. False is faster. Absent: true.',
    },
  },
  additionalProperties: true,
  description: 'A model and the form of a file to score with it. Unknown members are ignored.',
} as const;

/** A validated body. */
export interface JobRequest {
  readonly model_id: string;
  readonly input?: { readonly format?: 'csv' | 'jsonl'; readonly crm_id_field?: string };
  readonly output?: { readonly include_input?: boolean };
  readonly explain?: boolean;
  readonly stop_at?: 'limit' | 'backstop';
  readonly max_errors?: number;
  readonly previous?: boolean;
}
