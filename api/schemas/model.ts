import { modelIdSchema } from './score-request.js';
import { validationDetailSchema, validationSchema } from './validation.js';

const summaryProperties = {
  model_id: { ...modelIdSchema, description: 'The id to score with.' },
  name: { type: 'string', description: 'What people call the score.', examples: ['Inbound leads'] },
  family: {
    type: 'string',
    enum: ['forward', 'timing'],
    description: '`forward` models are graded by the validation gates; `timing` models are exempt.',
  },
  version: { type: 'string', description: 'The version that scores now.', examples: ['2026-10-02'] },
  live_api: {
    type: 'boolean',
    description: 'Whether Live API is on; scoring fails with `api_disabled` when not.',
  },
  validation: validationSchema,
} as const;
const alwaysPresent = ['model_id', 'name', 'family', 'version', 'live_api', 'validation'] as const;

/** One model, as the list shows it. */
export const modelSummarySchema = {
  type: 'object',
  required: alwaysPresent,
  properties: summaryProperties,
  description: 'A trained model of the workspace.',
} as const;

/** The answer of `GET /v1/models`. */
export const modelListSchema = {
  type: 'object',
  required: ['models'],
  properties: {
    models: { type: 'array', items: modelSummarySchema, description: 'The models, the oldest first.' },
  },
  description: 'The models that the key can use.',
} as const;

/** One field that a model knows. */
export const modelFieldSchema = {
  type: 'object',
  required: ['field', 'label', 'type', 'required'],
  properties: {
    field: { type: 'string', description: 'Name of the CRM field, as the model was trained on it.' },
    label: { type: 'string', description: 'What people call the field.' },
    type: {
      type: 'string',
      enum: ['number', 'boolean', 'category', 'multi', 'date'],
      description: 'How values are read: `multi` is a list of categories in one text.',
    },
    required: { type: 'boolean', description: 'Whether a record without it is refused.' },
    categories: {
      type: 'array',
      items: { type: 'string' },
      description: 'Of a `category` or `multi` field: the values that the model knows.',
    },
    aliases: {
      type: 'array',
      items: { type: 'string' },
      description: 'Other names under which the field may be sent.',
    },
  },
  description: 'A field that the model knows.',
} as const;

const recencySchema = {
  type: 'object',
  required: ['field', 'max_age_days'],
  properties: {
    field: { type: 'string', description: 'The date field that the age is counted from.' },
    max_age_days: { type: 'number', exclusiveMinimum: 0, description: 'Older records get a warning.' },
    future_tolerance_days: {
      type: 'number',
      minimum: 0,
      description: 'Records dated further ahead get a warning; 1 day when absent.',
    },
  },
  description: 'How old a record may be before its row carries a warning. Absent where age does not matter.',
} as const;

/** The answer of `GET /v1/models/{model_id}`. */
export const modelSchema = {
  type: 'object',
  required: [...alwaysPresent, 'fields', 'explain'],
  properties: {
    ...summaryProperties,
    validation: validationDetailSchema,
    fields: { type: 'array', items: modelFieldSchema, description: 'The fields that the model knows.' },
    recency: recencySchema,
    explain: {
      type: 'object',
      required: ['method'],
      properties: {
        method: {
          type: 'string',
          enum: ['tree', 'linear', 'occlusion'],
          description:
            'How contributions are worked out: from the trees, from the coefficients, or by putting a typical value in place of each field.',
        },
      },
      description: 'How `drivers` come about.',
    },
  },
  description: 'A trained model with the fields that it knows.',
} as const;
