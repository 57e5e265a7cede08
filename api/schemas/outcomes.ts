import { firstYear, lastYear, maxDaysAhead } from '../../shared/contract/dates.js';
import { count, described, describedObject, flag, type ShapeOf, text } from '../../shared/contract/schema.js';
import { crmIdSchema, numberIdWords } from './scoring/score-request.js';

/** The outcome of one lead. */
export const outcomeSchema = describedObject(
  'The outcome of one lead. The latest report for a crm_id replaces earlier ones. But of several conversions the earliest ' +
    'counts, until a report says that the lead has not converted.',
  {
    crm_id: {
      ...crmIdSchema,
      minLength: 1,
      description:
        'The id under which the lead was scored. Compared as in `POST /v1/score`. A placeholder (`NULL`, `#N/A`, `-`) and ' +
        `a number that a spreadsheet has shortened (\`1.2E+17\`) are refused.${numberIdWords}`,
    },
    converted: described('Whether the lead has converted.', flag),
    'at?': {
      type: ['string', 'null'],
      maxLength: 40,
      description:
        'When the lead converted: an ISO 8601 date (midnight UTC) or date and time (UTC without a zone), from ' +
        `${firstYear} to ${lastYear} and at most ${maxDaysAhead} days in the future. Without it (absent, null or ` +
        'empty) a conversion counts from its first report. Ignored for a lead that has not converted.',
      examples: ['2026-11-21T14:05:00Z'],
    },
  },
  {
    additionalProperties: true,
    examples: [{ crm_id: 'LEAD-00042', converted: true, at: '2026-11-21T14:05:00Z' }],
  },
);

/** The body of `POST /v1/outcomes`. */
export const outcomesRequestSchema = describedObject(
  'The outcomes of leads, from which models are graded. Unknown members are ignored.',
  {
    outcomes: {
      type: 'array',
      minItems: 1,
      maxItems: 1000,
      items: outcomeSchema,
      description:
        'The outcomes: at least one, at most 1000. When a lead appears several times, the last entry counts, or ' +
        'the earliest conversion.',
    },
  },
  { additionalProperties: true },
);

/** The reply of `POST /v1/outcomes`. */
export const outcomesReplySchema = describedObject(
  'All entries were accepted. One invalid entry refuses the whole call.',
  {
    accepted: described('The number of accepted entries: `known`, `unknown` and `repeated` together.', count),
    'known?': described(
      'Leads that have a stored score, under any model. Absent for test keys, and if they could not be counted.',
      count,
    ),
    'unknown?': described(
      'Leads without a stored score. Their outcomes are kept, and count once they are scored under the same `crm_id`. ' +
        'Absent for test keys, and if they could not be counted.',
      count,
    ),
    'repeated?': described('Entries whose lead an earlier entry of the call names. Absent for test keys.', count),
    'unknown_example?': described(
      'A `crm_id` of the call whose lead has no stored score. Absent if `unknown` is zero.',
      text,
    ),
    'scored_example?': described(
      'A `crm_id` that has a stored score, to compare with `unknown_example`: the next one in the order of ids, or ' +
        'without one the first. Ids of Salesforce have 15 characters here. Absent without `unknown_example`, and if no lead has a stored score.',
      text,
    ),
    'test?': { type: 'boolean', const: true, description: 'Present for test keys: nothing was stored.' },
  },
);

/** A validated body. */
export type OutcomesRequest = ShapeOf<typeof outcomesRequestSchema>;
