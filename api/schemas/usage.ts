import { count, described, describedObject, flag, instant, list } from '../../shared/contract/schema.js';

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

/** A month in the address. */
export const monthSchema = { type: 'string', pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$', examples: ['2026-11'] } as const;

const usageDaySchema = describedObject('The usage of one day.', {
  day: {
    type: 'string',
    pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$',
    description: 'The day (UTC).',
    examples: ['2026-11-28'],
  },
  records: described('Records scored on this day.', count),
  is_open: described(
    'True while `records` may change. A day closes some 26 hours after its end. With more than 10,000 calls on the ' +
      'open days, their records are an estimate.',
    flag,
  ),
});

/** The reply of `GET /v1/usage/daily`. */
export const dailyUsageSchema = describedObject("The usage of the key's bucket in a month, by day.", {
  month: described('The calendar month (UTC).', monthSchema),
  records: described('Records scored in the month: the sum of the days.', count),
  days: described(
    'The days of the month up to today (UTC), in order. A month that has not begun has none.',
    list(usageDaySchema),
  ),
});

export const dailyUsageSchemas = { V1DailyUsage: dailyUsageSchema, V1UsageDay: usageDaySchema } as const;
