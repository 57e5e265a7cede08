import { maxReportedValues } from '../../shared/messages/score-job.js';
import { usualCoverageDays } from '../../shared/store/models/coverage.js';
import { maxCoverageDays, maxSlotsWithValues } from '../../shared/store/models/field-days.js';
import { countSchema, objectSchema } from './object-schema.js';
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
  sent: countSchema('Records that were sent with a value in the field.'),
  missing: countSchema('Records without a value: nothing was sent, and no earlier score filled it in.'),
  filled: countSchema('Records whose value is that of an earlier score of the same `crm_id`.'),
  unread: countSchema('Records whose value could not be read. It counts as missing in the score.'),
  unseen: countSchema('Records whose value the model has not seen.'),
} as const;

const unseenValueSchema = objectSchema('A value that the model has not seen.', {
  value: { type: 'string', description: 'The value, cut at 64 characters.', examples: ['SaaS'] },
  records: countSchema('Records with the value, at least.'),
});

/** How one field was read. */
export const fieldCoverageSchema = objectSchema('How one field of the model was read.', {
  field: { type: 'string', description: 'Name of the field in the model.' },
  ...counts,
  by_day: {
    type: 'array',
    items: objectSchema('How the field was read on one day.', { day: daySchema, ...counts }),
    description: 'The same counts by day, oldest day first.',
  },
  unseen_values: {
    type: 'array',
    maxItems: maxReportedValues,
    items: unseenValueSchema,
    description: `The commonest unseen values. Empty for a test key, and for fields after the ${maxSlotsWithValues}th.`,
  },
});

/** The reply of `GET /v1/models/{model_id}/coverage`. */
export const coverageSchema = objectSchema('How the fields of the records of some days were read.', {
  model_id: { ...modelIdSchema, description: 'The model.' },
  model_version: { type: 'string', description: 'The version of the model that scored the records.' },
  days: {
    type: 'array',
    items: objectSchema('One day.', { day: daySchema, records: countSchema('Records that the version scored.') }),
    description: 'All requested days, oldest first. The last one is today.',
  },
  fields: {
    type: 'array',
    items: fieldCoverageSchema,
    description:
      'The fields, in the order of the model. A name may come twice if the model gives it different aliases.',
  },
});
