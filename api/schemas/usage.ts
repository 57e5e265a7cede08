import { count, described, describedObject, flag, instant } from '../../shared/contract/schema.js';

/** V1Usage: the metered usage of the key's bucket in the current month. */
export const usageSchema = describedObject(
  'Month-to-date usage, counted in scored records.',
  {
    current: described('Records scored so far this calendar month (UTC), this call included.', count),
    limit: described('Records that the plan includes per month. Test keys have a separate free bucket of 1000.', count),
    remaining: { type: 'integer', description: 'Records left this month; negative in the grace band.' },
    in_grace: described('True once usage passes the limit. Scoring continues up to the backstop.', flag),
    backstop: {
      type: ['integer', 'null'],
      minimum: 0,
      description:
        'The hard stop: at this usage, scoring pauses with `quota_exceeded`. Null for test keys, which ' +
        'stop at their limit.',
    },
  },
  { examples: [{ current: 1250, limit: 10000, remaining: 8750, in_grace: false, backstop: 20000 }] },
);

/** The reply of `GET /v1/usage`. */
export const monthUsageSchema = describedObject(
  "The usage of the key's bucket in the current month, and when it resets.",
  {
    ...usageSchema.properties,
    current: described('Records scored so far this month.', count),
    month: {
      type: 'string',
      pattern: '^[0-9]{4}-[0-9]{2}$',
      description: 'The calendar month (UTC).',
      examples: ['2026-11'],
    },
    resets_at: { ...described('When usage resets to zero.', instant), examples: ['2026-12-01T00:00:00.000Z'] },
  },
);
