import { dateOrders } from '../../../shared/bundle/expected-values.js';
import { maxReportedValue, maxReportedValues } from '../../../shared/messages/score-job.js';
import { countSchema, objectSchema } from '../object-schema.js';
import type { Schema } from '../openapi-types.js';

const shownText = (description: string) => ({ type: 'string', maxLength: maxReportedValue, description }) as const;
const list = <Item extends Schema>(items: Item, description: string) =>
  ({ type: 'array', maxItems: maxReportedValues, items, description }) as const;

const field = { type: 'string', description: 'A field of the model.' } as const;
const value = shownText('The value as text, cut to 64 characters.');
const reason = {
  type: 'string',
  description: 'The value that was expected.',
  examples: ['expected a number'],
} as const;
const dateOrder = {
  type: 'string',
  enum: dateOrders,
  description: 'The order in which the model reads day, month and year with slashes.',
} as const;
const ignoredName = shownText('The name as sent, cut to 64 characters.');

export const unreadValueSchema = objectSchema('A value that the model could not read. It counts as missing.', {
  field,
  value,
  reason,
});

export const unseenValueSchema = objectSchema('A value that the model has not seen.', { field, value });

export const ambiguousDateSchema = objectSchema(
  'A date that the model read. It is another day in the other order of day and month.',
  { field, value, date_order: dateOrder },
);

/** The member `input` of a row. */
export const inputSchema = objectSchema(
  'How the fields of the record were read. A list has at most 20 entries. Only with `input_report: "records"`.',
  {
    used: countSchema('Fields of the model from which a value was taken.'),
    missing: list(field, 'Fields of the model without a value.'),
    filled: list(field, 'Fields that were not sent: their values are those of an earlier prediction.'),
    unread: list(unreadValueSchema, 'Values that the model could not read.'),
    unseen: list(unseenValueSchema, 'Values that the model has not seen.'),
    ambiguous: list(ambiguousDateSchema, 'Dates such as 03/04/2026, which have two readings.'),
    ignored: list(ignoredName, 'Names that the model does not know.'),
    did_you_mean: {
      type: 'object',
      maxProperties: maxReportedValues,
      additionalProperties: { type: 'string' },
      description: 'For ignored names that look misspelt: the field that was probably meant, and was not sent.',
      examples: [{ 'Lead Sorce': 'Lead Source' }],
    },
    'more?': {
      type: 'object',
      additionalProperties: countSchema('Entries that are left out.'),
      description: 'For each list with more than 20 entries: the number of entries that are left out.',
    },
  },
);

export const inputFieldSchema = objectSchema('How the values of one field were read.', {
  field,
  sent: countSchema('Records that sent the field with a value.'),
  unread: countSchema('Records whose value could not be read. It counts as missing.'),
  unseen: countSchema('Records whose value the model has not seen.'),
  'ambiguous?': countSchema(
    'Records whose date was read, and is another day in the other order of day and month, such as 03/04/2026. Only for ' +
      'dates that the model reads with slashes.',
  ),
  'date_order?': dateOrder,
  examples: list(value, 'Different values that were not read or not seen, the most frequent first.'),
  'reason?': reason,
});

export const ignoredNameSchema = objectSchema('A name that the model does not know.', {
  name: ignoredName,
  records: countSchema('Records that sent it.'),
  'did_you_mean?': {
    type: 'string',
    description: 'The field of the model that was probably meant. No record of the call sent it with a value.',
  },
});

/** The member `input_summary` of a reply. */
export const inputSummarySchema = objectSchema(
  'How the fields of all records were read. Only with `input_report`. An unread or unseen value may also come from an ' +
    'earlier prediction, with which a missing field was filled in.',
  {
    records: countSchema('Records of the call.'),
    fields: {
      type: 'array',
      items: inputFieldSchema,
      description: 'The fields of the model, and `crm_id` if some record sent one that is no id.',
    },
    ignored: list(
      ignoredNameSchema,
      'Names that the model does not know: first those that look misspelt, then the most frequent.',
    ),
    'ignored_more?': countSchema('Further such names, when there are more than 20.'),
  },
);
