import { firstYear, lastYear } from '../../shared/iso-instant.js';
import { mostDaysAhead } from '../../shared/outcome-date.js';
import { crmIdSchema } from './score-request.js';

/** What became of one lead. */
export const outcomeSchema = {
  type: 'object',
  required: ['crm_id', 'converted', 'at'],
  properties: {
    crm_id: {
      ...crmIdSchema,
      minLength: 1,
      description: 'The id under which the lead was scored. Compared exactly.',
    },
    converted: { type: 'boolean', description: 'Whether the lead has converted.' },
    at: {
      type: 'string',
      maxLength: 40,
      description:
        'When it converted or, if it has not, as of when that is known: an ISO 8601 date (midnight UTC) or date and time ' +
        `(UTC unless it names a zone), of the years ${firstYear} to ${lastYear}. A conversion may lie at most ${mostDaysAhead} days ahead.`,
      examples: ['2026-11-21T14:05:00Z'],
    },
  },
  additionalProperties: true,
  description:
    'What became of one lead. The newest word on a crm_id takes the place of what was said before.',
  examples: [{ crm_id: 'LEAD-00042', converted: true, at: '2026-11-21T14:05:00Z' }],
} as const;

/** The body of `POST /v1/outcomes`. */
export const outcomesRequestSchema = {
  type: 'object',
  required: ['outcomes'],
  properties: {
    outcomes: {
      type: 'array',
      minItems: 1,
      maxItems: 1000,
      items: outcomeSchema,
      description:
        'What became of some leads: at least one, at most 1000. Of several words on one lead the last counts.',
    },
  },
  additionalProperties: true,
  description: 'What became of leads, by which models are graded. Unknown members are ignored.',
} as const;

/** The answer of `POST /v1/outcomes`. */
export const outcomesReplySchema = {
  type: 'object',
  required: ['accepted'],
  properties: {
    accepted: { type: 'integer', minimum: 0, description: 'How many entries were taken.' },
    test: { type: 'boolean', const: true, description: 'Present for test keys: nothing was kept.' },
  },
  description: 'All entries were taken: one that is wrong refuses the whole call.',
} as const;

/** What a body is when it has passed the schema. */
export interface OutcomesRequest {
  readonly outcomes: readonly {
    readonly crm_id: string;
    readonly converted: boolean;
    readonly at: string;
  }[];
}
