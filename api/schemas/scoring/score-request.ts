import { described, describedObject, flag, type ShapeOf } from '../../../shared/contract/schema.js';
import { maxCrmId } from '../../../shared/contract/texts.js';
import { inputReports } from '../../call/scoring-call.js';

/**
 * A crm_id as text: 1-255 code points, without NUL or lone surrogates. See `storedCrmId` for how it is compared. An
 * empty one counts as absent.
 */
export const crmIdTextSchema = {
  type: 'string',
  maxLength: maxCrmId,
  pattern: '^[^\\u0000]*$',
  format: 'well-formed-text',
  description:
    'Your id of the record. It is echoed, and used to find the previous score. Compared exactly, but both forms of ' +
    "Salesforce's ids (15 and 18 characters) are one. An empty text counts as absent. A placeholder (`NULL`, `#N/A`, " +
    '`-`) and a number that a spreadsheet has shortened (`1.2E+17`) are only echoed.',
  examples: ['LEAD-00042'],
} as const;

/** JSON parsers round larger whole numbers, so that several ids would become one. */
const numberId = {
  type: ['string', 'integer'],
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
} as const;
/** Documents a crm_id that may be a number. */
export const numberIdWords = ' A whole number below 2^53 is read as its digits; quote a larger one.';

/** A crm_id in JSON. */
export const crmIdSchema = {
  ...crmIdTextSchema,
  ...numberId,
  description: crmIdTextSchema.description + numberIdWords,
} as const;

export const modelIdSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  description: 'The trained model to score with. `GET /v1/models` lists the models that the key can use.',
  examples: ['mdl_4kTq9ZxW2mNbVc7L'],
} as const;

/** One input record: a flat object of CRM field values. */
export const recordSchema = {
  type: 'object',
  properties: { crm_id: crmIdSchema },
  additionalProperties: true,
  description:
    'One record: CRM field values under your own field names. Fields that the model does not know are ' +
    'ignored. Fields from its training may be missing.',
  examples: [{ crm_id: 'LEAD-00042', lead_source: 'Webinar', company_size: 120, demo_requested: true }],
} as const;

export const inputReportSchema = {
  type: 'string',
  enum: inputReports,
  description:
    'Reports how the fields were read. `summary` adds `input_summary` to the reply: fields without values, values that ' +
    'the model could not read or has not seen, and names that it does not know. `records` also adds `input` to each row. ' +
    'Absent: no report.',
} as const;

/** ScoreRequest: the body of `POST /v1/score`. */
export const scoreRequestSchema = describedObject(
  'A batch of records and the model to score them with. Unknown members are ignored, and `notices` of the reply names ' +
    'those that look misspelt. Objects and arrays may be nested up to 32 levels deep. Names of members must not contain NUL.',
  {
    model_id: modelIdSchema,
    records: {
      type: 'array',
      minItems: 1,
      maxItems: 1000,
      items: recordSchema,
      description: 'The records to score: at least one, at most 1000.',
    },
    'explain?': described(
      'True adds `drivers` and `top_reason_1` to `top_reason_3` to each row, in a few milliseconds. Absent: false.',
      flag,
    ),
    'input_report?': inputReportSchema,
  },
  { additionalProperties: true },
);

/** A validated body. */
export type ScoreRequest = ShapeOf<typeof scoreRequestSchema>;
