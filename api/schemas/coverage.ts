import { count, described, describedObject, list, text } from '../../shared/contract/schema.js';
import { maxReportedValues } from '../../shared/messages/score-job.js';
import { usualCoverageDays } from '../../shared/store/models/coverage.js';
import { maxCoverageDays, maxSlotsWithValues } from '../../shared/store/models/field-days.js';
import { modelIdSchema } from './scoring/score-request.js';

/** The number of days of a coverage, today included. */
export const coverageDaysSchema = {
  type: 'integer',
  minimum: 1,
  maximum: maxCoverageDays,
  default: usualCoverageDays,
} as const;

const daySchema = {
  type: 'string',
  pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$',
  description: 'The day (UTC).',
  examples: ['2026-11-25'],
} as const;

const counts = {
  sent: described('Records that were sent with a value in the field.', count),
  missing: described('Records without a value: nothing was sent, and no earlier score filled it in.', count),
  filled: described('Records whose value is that of an earlier score of the same `crm_id`.', count),
  unread: described('Records whose value could not be read. It counts as missing in the score.', count),
  unseen: described('Records whose value the model has not seen.', count),
} as const;

const unseenValueSchema = describedObject('A value that the model has not seen.', {
  value: described('The value, cut at 64 characters.', text, { examples: ['SaaS'] }),
  records: described('Records with the value, at least.', count),
});

/** How one field was read. */
export const fieldCoverageSchema = describedObject('How one field of the model was read.', {
  field: described('Name of the field in the model.', text),
  ...counts,
  by_day: described(
    'The same counts by day, oldest day first.',
    list(describedObject('How the field was read on one day.', { day: daySchema, ...counts })),
  ),
  unseen_values: {
    type: 'array',
    maxItems: maxReportedValues,
    items: unseenValueSchema,
    description: `The commonest unseen values. Empty for a test key, and for fields after the ${maxSlotsWithValues}th.`,
  },
});

/** The reply of `GET /v1/models/{model_id}/coverage`. */
export const coverageSchema = describedObject('How the fields of the records of some days were read.', {
  model_id: described('The model.', modelIdSchema),
  model_version: described('The version of the model that scored the records.', text),
  days: described(
    'All requested days, oldest first. The last one is today.',
    list(
      describedObject('One day.', { day: daySchema, records: described('Records that the version scored.', count) }),
    ),
  ),
  fields: described(
    'The fields, in the order of the model. A name may come twice if the model gives it different aliases.',
    list(fieldCoverageSchema),
  ),
});
