/** A crm_id: 1-255 code points, compared as it is; an empty one counts as not sent. No NUL, no lone surrogate. */
export const crmIdSchema = {
  type: 'string',
  maxLength: 255,
  pattern: '^[^\\u0000\\p{Cs}]*$',
  description: 'Your id of the record: echoed, and used to find its previous score. Compared exactly.',
  examples: ['LEAD-00042'],
} as const;

export const modelIdSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  description: 'The trained model to score against.',
  examples: ['mdl_4kTq9ZxW2mNbVc7L'],
} as const;

/** One input record: a flat object of CRM field values. */
export const recordSchema = {
  type: 'object',
  properties: { crm_id: crmIdSchema },
  additionalProperties: true,
  description:
    'CRM field values under your own field names. Fields that the model does not know are ignored.',
} as const;

/** ScoreRequest: the body of `POST /v1/score`. That it is not empty, and not above 1000, is checked after the schema. */
export const scoreRequestSchema = {
  type: 'object',
  required: ['model_id', 'records'],
  properties: {
    model_id: modelIdSchema,
    records: { type: 'array', items: recordSchema, description: 'Up to 1000 records; must not be empty.' },
    explain: { type: 'boolean', description: 'Opt in to drivers and top reasons. Default false.' },
  },
  additionalProperties: true,
} as const;

/** What a body is when it has passed the schema. */
export interface ScoreRequest {
  readonly model_id: string;
  readonly records: readonly Readonly<Record<string, unknown>>[];
  readonly explain?: boolean;
}
