import { dateOrders } from '../../shared/bundle/expected-values.js';
import { objectSchema } from './object-schema.js';
import { modelIdSchema } from './scoring/score-request.js';
import { validationDetailSchema, validationSchema } from './validation.js';

const summaryProperties = {
  model_id: { ...modelIdSchema, description: 'The id to score with.' },
  name: { type: 'string', description: 'The name of the score, for people.', examples: ['Inbound leads'] },
  family: {
    type: 'string',
    enum: ['forward', 'timing'],
    description: '`forward` models are graded by the validation gates; `timing` models are exempt.',
  },
  version: { type: 'string', description: 'The current version.', examples: ['2026-10-02'] },
  live_api: {
    type: 'boolean',
    description: 'Whether Live API is on. When it is off, scoring fails with `api_disabled`.',
  },
  validation: validationSchema,
} as const;

/** A model in the list. */
export const modelSummarySchema = objectSchema('A trained model of the workspace.', summaryProperties);

/** The reply of `GET /v1/models`. */
export const modelListSchema = objectSchema('The models that the key can use.', {
  models: { type: 'array', items: modelSummarySchema, description: 'The models, oldest first.' },
});

const texts = (description: string) => ({ type: 'array', items: { type: 'string' }, description }) as const;

/** One field that a model knows. */
export const modelFieldSchema = objectSchema('A field that the model knows.', {
  field: { type: 'string', description: 'Name of the CRM field in the training data.' },
  label: { type: 'string', description: 'The name of the field, for people.' },
  type: {
    type: 'string',
    enum: ['number', 'boolean', 'category', 'multi', 'date'],
    description: 'How values are read. `multi` is a list of categories in one text.',
  },
  required: { type: 'boolean', description: 'Whether a record without it is refused.' },
  'date_order?': {
    type: 'string',
    enum: dateOrders,
    description:
      'How 03/04/2026 is read: `dmy` is 3 April, `mdy` 4 March. Only for `date` fields. Without it, dates with slashes ' +
      'are unreadable.',
  },
  'categories?': texts('The values that the model knows. Only for `category` and `multi` fields.'),
  'aliases?': texts('Other accepted names of the field.'),
});

const recencySchema = objectSchema(
  'The maximum age of a record. Older records get a warning. Absent when the model does not depend on age.',
  {
    field: { type: 'string', description: 'The date field from which the age is computed.' },
    max_age_days: { type: 'number', exclusiveMinimum: 0, description: 'Older records get a warning.' },
    'future_tolerance_days?': {
      type: 'number',
      minimum: 0,
      description: 'Records dated further in the future get a warning. The default is 1 day.',
    },
  },
);

const explainSchema = objectSchema('How `drivers` are computed.', {
  method: {
    type: 'string',
    enum: ['tree', 'linear', 'occlusion'],
    description:
      'How contributions are computed: from the trees, from the coefficients, or by replacing each ' +
      'field by a typical value.',
  },
});

/** The reply of `GET /v1/models/{model_id}`. */
export const modelSchema = objectSchema('A trained model with the fields that it knows.', {
  ...summaryProperties,
  validation: validationDetailSchema,
  fields: { type: 'array', items: modelFieldSchema, description: 'The fields that the model knows.' },
  'recency?': recencySchema,
  explain: explainSchema,
});
