import { firstYear, lastYear, maxDaysAhead } from '../../shared/contract/dates.js';
import { count, described, describedObject, flag, list, type ShapeOf, text } from '../../shared/contract/schema.js';
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

/** Rows of a file in one call. */
export const maxFileRows = 50_000;

/** The options of a file: parameters of the address. */
export const fileOptionNames = [
  'crm_id',
  'converted',
  'at',
  'won_values',
  'lost_values',
  'others_lost',
  'ignored_values',
  'correct_dates',
] as const;
export type FileOptionName = (typeof fileOptionNames)[number];

/** The body of `POST /v1/outcomes` as a file. */
export const outcomesFileSchema = {
  type: 'string',
  description:
    `A CSV with a header and at most ${maxFileRows} rows (blank ones included), one lead in each: its id, whether it has converted, and when. It may ` +
    'be compressed with gzip. Delimiter and encoding (UTF-8 or UTF-16) are found.',
} as const;

const problemSchema = describedObject('Rows of a file with the same problem.', {
  problem: described('The rule that the rows break.', text),
  rows: described('The number of these rows.', count),
  first: described(
    'The first three of them.',
    list(
      describedObject('A row.', {
        line: described('Its first line in the file, from 1.', count),
        'value?': described('The cell.', text),
      }),
    ),
  ),
  values: described('At most six different cells, cut to 40 characters.', list(text)),
});

/** The reply of `POST /v1/outcomes`. */
export const outcomesReplySchema = describedObject(
  'All entries of JSON were accepted: one invalid entry refuses the whole call. Each row of a file was accepted or refused.',
  {
    accepted: described('The number of accepted entries: `known`, `unknown` and `repeated` together.', count),
    'rows?': described('Only for a file: rows with content.', count),
    'converted?': described('Only for a file: accepted rows whose lead has converted.', count),
    'refused?': described('Only for a file: rows that were not stored. `problems` says why.', count),
    'ignored?': described('Only for a file with `ignored_values`: rows that were passed over for their value.', count),
    'problems?': described('Only for a file: the problems of refused rows, by kind.', list(problemSchema)),
    'notes?': described('Only for a file: sentences about it, such as rows that were passed over.', list(text)),
    'known?': described(
      'Leads that have a stored score, under any model. Absent for test keys, and if they could not be counted.',
      count,
    ),
    'unknown?': described(
      'Leads without a stored score. Their outcomes are kept, and count once they are scored under the same `crm_id`. ' +
        'Absent for test keys, and if they could not be counted.',
      count,
    ),
    'repeated?': described(
      'Entries whose lead an earlier entry of the call names. Absent for test keys, unless they send a file.',
      count,
    ),
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
