import { dateOrders } from '../../../shared/bundle/expected-values.js';
import { count, described, describedObject, list, type Schema, text } from '../../../shared/contract/schema.js';
import { maxReportedValue, maxReportedValues } from '../../../shared/messages/score-job.js';

const shownText = (description: string) => ({ type: 'string', maxLength: maxReportedValue, description }) as const;
const shortList = <Item extends Schema>(items: Item, description: string) =>
  ({ type: 'array', maxItems: maxReportedValues, items, description }) as const;

const field = described('A field of the model.', text);
const value = shownText('The value as text, cut to 64 characters.');
const reason = described('The value that was expected.', text, { examples: ['expected a number'] });
const dateOrder = {
  type: 'string',
  enum: dateOrders,
  description: 'The order in which the model reads day, month and year with slashes.',
} as const;
const ignoredName = shownText('The name as sent, cut to 64 characters.');

export const unreadValueSchema = describedObject('A value that the model could not read. It counts as missing.', {
  field,
  value,
  reason,
});

export const unseenValueSchema = describedObject('A value that the model has not seen.', { field, value });

export const ambiguousDateSchema = describedObject(
  'A date that the model read. It is another day in the other order of day and month.',
  { field, value, date_order: dateOrder },
);

/** The member `input` of a row. */
export const inputSchema = describedObject(
  'How the fields of the record were read. A list has at most 20 entries. Only with `input_report: "records"`.',
  {
    used: described('Fields of the model from which a value was taken.', count),
    missing: shortList(field, 'Fields of the model without a value.'),
    filled: shortList(field, 'Fields that were not sent: their values are those of an earlier prediction.'),
    unread: shortList(unreadValueSchema, 'Values that the model could not read.'),
    unseen: shortList(unseenValueSchema, 'Values that the model has not seen.'),
    ambiguous: shortList(ambiguousDateSchema, 'Dates such as 03/04/2026, which have two readings.'),
    ignored: shortList(ignoredName, 'Names that the model does not know.'),
    did_you_mean: {
      type: 'object',
      maxProperties: maxReportedValues,
      additionalProperties: { type: 'string' },
      description: 'For ignored names that look misspelt: the field that was probably meant, and was not sent.',
      examples: [{ 'Lead Sorce': 'Lead Source' }],
    },
    'more?': {
      type: 'object',
      additionalProperties: described('Entries that are left out.', count),
      description: 'For each list with more than 20 entries: the number of entries that are left out.',
    },
  },
);

const fieldCounts = {
  field,
  sent: described('Records that sent the field with a value.', count),
  unread: described('Records whose value could not be read. It counts as missing.', count),
  unseen: described('Records whose value the model has not seen.', count),
  'ambiguous?': described(
    'Records whose date was read, and is another day in the other order of day and month, such as 03/04/2026. Only for ' +
      'dates that the model reads with slashes.',
    count,
  ),
  'date_order?': dateOrder,
  'reason?': reason,
} as const;

export const inputFieldSchema = describedObject('How the values of one field were read.', {
  ...fieldCounts,
  examples: shortList(value, 'Different values that were not read or not seen, the most frequent first.'),
});

export const jobInputFieldSchema = describedObject('How the values of one field of a file were read.', fieldCounts);

export const ignoredNameSchema = describedObject('A name that the model does not know.', {
  name: ignoredName,
  records: described('Records that sent it.', count),
  'did_you_mean?': described(
    'The field of the model that was probably meant. No record of the call sent it with a value.',
    text,
  ),
});

/** The member `input_summary` of a reply. */
export const inputSummarySchema = describedObject(
  'How the fields of all records were read. Only with `input_report`. An unread or unseen value may also come from an ' +
    'earlier prediction, with which a missing field was filled in.',
  {
    records: described('Records of the call.', count),
    fields: described(
      'The fields of the model, and `crm_id` if some record sent one that is no id.',
      list(inputFieldSchema),
    ),
    ignored: shortList(
      ignoredNameSchema,
      'Names that the model does not know: first those that look misspelt, then the most frequent.',
    ),
    'ignored_more?': described('Further such names, when there are more than 20.', count),
  },
);

/** The member `input_summary` of a job. */
export const jobInputSummarySchema = describedObject(
  'How the fields of the scored rows were read, up to the last row whose result can be downloaded. It has no values. ' +
    'Absent in lists, and until the file has been read. ' +
    'An unread or unseen value may also come from an earlier prediction, with which a missing field was filled in.',
  {
    records: described('Rows that were scored.', count),
    fields: described('The fields of the model.', list(jobInputFieldSchema)),
    ignored: shortList(
      ignoredNameSchema,
      'Columns or members that the model does not know: first those that look misspelt, then the most frequent.',
    ),
    'ignored_more?': described(
      'Further such names, when there are more than 20. Members of a JSONL file may have more: the service counts those ' +
        'of each slice alone.',
      count,
    ),
  },
);
