/** V1Usage: the metered usage of the key's bucket in the current month. */
export const usageSchema = {
  type: 'object',
  required: ['current', 'limit', 'remaining', 'in_grace', 'backstop'],
  properties: {
    current: {
      type: 'integer',
      minimum: 0,
      description: 'Records scored so far this calendar month (UTC), this call included.',
    },
    limit: {
      type: 'integer',
      minimum: 0,
      description:
        'Records that the plan includes each month. Test keys have a free bucket of their own: 1000.',
    },
    remaining: {
      type: 'integer',
      description: 'Records left of the limit this month; negative in the grace band.',
    },
    in_grace: {
      type: 'boolean',
      description: 'True once more than the limit has been scored. Scoring goes on up to the backstop.',
    },
    backstop: {
      type: ['integer', 'null'],
      minimum: 0,
      description:
        'Usage never passes this: scoring then pauses with `quota_exceeded`. Null for test keys, which stop at their limit.',
    },
  },
  description: 'Month-to-date usage, counted in scored records.',
  examples: [{ current: 1250, limit: 10000, remaining: 8750, in_grace: false, backstop: 20000 }],
} as const;

/** The answer of `GET /v1/usage`. */
export const monthUsageSchema = {
  type: 'object',
  required: [...usageSchema.required, 'month', 'resets_at'],
  properties: {
    ...usageSchema.properties,
    current: { ...usageSchema.properties.current, description: 'Records scored so far this month.' },
    month: {
      type: 'string',
      pattern: '^[0-9]{4}-[0-9]{2}$',
      description: 'The calendar month (UTC) that is counted.',
      examples: ['2026-11'],
    },
    resets_at: {
      type: 'string',
      format: 'date-time',
      description: 'When usage starts again from zero.',
      examples: ['2026-12-01T00:00:00.000Z'],
    },
  },
  description: "The usage of the key's bucket in the current month, and when it resets.",
} as const;
