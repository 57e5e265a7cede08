import { dateOrders } from '../../shared/bundle/expected-values.js';
import { described, describedObject, flag, list, text } from '../../shared/contract/schema.js';
import { modelIdSchema } from './scoring/score-request.js';
import { validationDetailSchema, validationSchema } from './validation.js';

const summaryProperties = {
  model_id: described('The id to score with.', modelIdSchema),
  name: described('The name of the score, for people.', text, { examples: ['Inbound leads'] }),
  family: {
    type: 'string',
    enum: ['forward', 'timing'],
    description: '`forward` models are graded by the validation gates; `timing` models are exempt.',
  },
  version: described('The current version.', text, { examples: ['2026-10-02'] }),
  live_api: described('Whether Live API is on. When it is off, scoring fails with `api_disabled`.', flag),
  validation: validationSchema,
} as const;

/** A model in the list. */
export const modelSummarySchema = describedObject('A trained model of the workspace.', summaryProperties);

/** The reply of `GET /v1/models`. */
export const modelListSchema = describedObject('The models that the key can use.', {
  models: described('The models, oldest first.', list(modelSummarySchema)),
});

const texts = (description: string) => ({ type: 'array', items: { type: 'string' }, description }) as const;

/** One field that a model knows. */
export const modelFieldSchema = describedObject('A field that the model knows.', {
  field: described('Name of the CRM field in the training data.', text),
  label: described('The name of the field, for people.', text),
  type: {
    type: 'string',
    enum: ['number', 'boolean', 'category', 'multi', 'date'],
    description: 'How values are read. `multi` is a list of categories in one text.',
  },
  required: described('Whether a record without it is refused.', flag),
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

const recencySchema = describedObject(
  'The maximum age of a record. Older records get a warning. Absent when the model does not depend on age.',
  {
    field: described('The date field from which the age is computed.', text),
    max_age_days: { type: 'number', exclusiveMinimum: 0, description: 'Older records get a warning.' },
    'future_tolerance_days?': {
      type: 'number',
      minimum: 0,
      description: 'Records dated further in the future get a warning. The default is 1 day.',
    },
  },
);

const explainSchema = describedObject('How `drivers` are computed.', {
  method: {
    type: 'string',
    enum: ['tree', 'linear', 'occlusion'],
    description:
      'How contributions are computed: from the trees, from the coefficients, or by replacing each ' +
      'field by a typical value.',
  },
});

/** The reply of `GET /v1/models/{model_id}`. */
export const modelSchema = describedObject('A trained model with the fields that it knows.', {
  ...summaryProperties,
  validation: validationDetailSchema,
  fields: described('The fields that the model knows.', list(modelFieldSchema)),
  'recency?': recencySchema,
  explain: explainSchema,
});
