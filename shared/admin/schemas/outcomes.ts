import { closedObject, count, flag, instant, list, text, textOrNull } from '../../contract/schema.js';
import { day, modelId, organisationId } from './members.js';
import { gateSchema, verdictSchema } from './models.js';
import { outcomeValues } from './organisations.js';

export const showOutcomesInput = closedObject({ org_id: organisationId });

/** The values that mean won and lost, and what each model lacks. */
export const outcomesSchema = closedObject({
  won_values: list(text),
  lost_values: list(text),
  models: list(
    closedObject({
      model_id: text,
      name: text,
      version: text,
      /** Without an override. */
      validation: verdictSchema,
      /** Empty for a timing model or an unresolved verdict. */
      gates: list(gateSchema),
      /** Absent before the first grade. */
      'graded_at?': instant,
      /** The earliest grade that counts outcomes of now. Absent for models that are not graded. */
      'next_grade_at?': instant,
    }),
  ),
});

/** A model, and the first and the last day, UTC. Without days the last 30. Days that have not begun are left out. */
export const outcomeDaysInput = closedObject({ org_id: organisationId, model_id: modelId, 'from?': day, 'to?': day });

/** Leads that a version of the model scored first on these days, those with an outcome, and those that converted. */
const outcomeSums = { leads: count, with_outcome: count, converted: count } as const;
const outcomeDays = list(closedObject({ day, ...outcomeSums }));

/** At most 92 days, and as many before them, as the last grade of each version counted them. */
export const outcomeDaysOutput = closedObject({
  model_id: text,
  /** When the organisation was created: days before have no leads. */
  created_at: instant,
  from: day,
  to: day,
  /** The days before, of the same number. Null when the organisation is younger than all of them. */
  before: {
    type: ['object', 'null'],
    properties: { from: day, to: day },
    required: ['from', 'to'],
    additionalProperties: false,
  },
  days: outcomeDays,
  sums: closedObject(outcomeSums),
  /** One for each of `days`. Empty without days before. */
  days_before: outcomeDays,
  sums_before: closedObject(outcomeSums),
  /** Changes that may explain the figures, oldest first, at most 100: versions, Live API, keys, jobs, outcomes. */
  events: list(closedObject({ at: instant, day, text, by: text })),
  has_more_events: flag,
});

/** An empty list removes the values. */
export const setOutcomesInput = closedObject({
  org_id: organisationId,
  won_values: outcomeValues,
  lost_values: outcomeValues,
});
export const setOutcomesOutput = closedObject({ won_values: list(text), lost_values: list(text) });

const option = { type: 'string', minLength: 1, maxLength: 15_000 } as const;
/** The columns, as options of `POST /v1/outcomes`. */
const columnMembers = { 'crm_id?': option, 'converted?': option, 'at?': option } as const;
/** A later part of a file begins with its header, which has so many bytes. Its first row is in the line. */
const partMembers = {
  'line?': { type: 'integer', minimum: 2 },
  'header?': { type: 'integer', minimum: 1 },
  /** Whether the file has more than this body. */
  'goes_on?': flag,
} as const;

/** The body is a CSV, whole or a part. */
export const importOutcomesInput = closedObject({
  org_id: organisationId,
  ...columnMembers,
  'won_values?': option,
  'lost_values?': option,
  'ignored_values?': option,
  'others_lost?': option,
  'correct_dates?': option,
  ...partMembers,
});

/** The reply of `POST /v1/outcomes` to a file. */
export const importOutcomesOutput = closedObject({
  accepted: count,
  rows: count,
  converted: count,
  refused: count,
  'ignored?': count,
  repeated: count,
  problems: list(
    closedObject({
      problem: text,
      rows: count,
      first: list(closedObject({ line: count, 'value?': text })),
      values: list(text),
    }),
  ),
  notes: list(text),
  'known?': count,
  'unknown?': count,
  'unknown_example?': text,
  'scored_example?': text,
});

export const previewOutcomesInput = closedObject({
  org_id: organisationId,
  ...columnMembers,
  ...partMembers,
});

export const previewOutcomesOutput = closedObject({
  /** With another one than UTF-8, `header_bytes`, `bytes` and `next_line` say nothing. */
  encoding: { type: 'string', enum: ['utf-8', 'utf-16le', 'utf-16be'] },
  /** At most 1,000 names. */
  columns: list(text),
  /** Bytes of the body up to the end of the header. */
  header_bytes: count,
  /** The first five rows, long cells cut. */
  first_rows: list(list(text)),
  /** The likely columns, for people to confirm. */
  suggested: closedObject({ crm_id: textOrNull, converted: textOrNull, at: textOrNull }),
  /** Rows with content that were read. */
  rows: count,
  /** Rows whose outcome is empty. */
  without_value: count,
  /** The values of the column `converted`, which is given; null if it has more than 50, or one is too long. */
  values: {
    type: ['array', 'null'],
    items: closedObject({
      value: text,
      /** The same for values that are one, also in another part of the file. */
      key: text,
      rows: count,
      /** The likely meaning, for people to confirm. */
      suggested: { type: ['string', 'null'], enum: ['won', 'lost', null] },
    }),
  },
  /** Bytes of the body, without the header of a later part, up to the end of the last row that was read. */
  bytes: count,
  /** The line after it. */
  next_line: count,
});
