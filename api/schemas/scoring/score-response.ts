import {
  count,
  described,
  describedObject,
  flag,
  list,
  type Schema,
  score,
  text,
} from '../../../shared/contract/schema.js';
import type { LikelihoodName } from '../../call/score-reply.js';
import { usageSchema } from '../usage.js';
import { validationSchema } from '../validation.js';
import { inputSchema, inputSummarySchema } from './input-report.js';
import { modelIdSchema } from './score-request.js';

export const likelihoodSchema = {
  type: 'number',
  minimum: 0,
  maximum: 1,
  description: 'Conversion likelihood from 0 to 1, with 4 decimal places.',
} as const;

/** One field's contribution to a score. Every value is text, because some CRMs cannot read a member of mixed types. */
export const driverSchema = describedObject("One field's contribution to a record's score.", {
  field: described('Name of the CRM field.', text),
  value: described('The scored value as text; empty when it is missing.', text),
  contribution: {
    type: 'string',
    pattern: '^-?[0-9]+\\.[0-9]{4}$',
    description:
      "How far the field moves the model's log-odds, with 4 decimal places. Contributions do not sum " +
      'to the score.',
    examples: ['0.8123'],
  },
  direction: {
    type: 'string',
    enum: ['positive', 'negative'],
    description: 'Whether the field raises or lowers the score.',
  },
  label: described('The name of the field, for people.', text),
});

const topReason = (rank: string) =>
  ({
    type: ['string', 'null'],
    description: `The ${rank} driver in words, or null without that many drivers. Only with \`explain\`.`,
    examples: ['Lead source is Webinar (raises the score)'],
  }) as const;

/** The members of a row that every reply format has, with this name for the likelihood. */
export const rowMembers = (likelihoodName: LikelihoodName) =>
  ({
    score: described('Fit score, 0-100. It ranks records; it is not a probability.', score),
    [likelihoodName]: likelihoodSchema,
    enriched: described(
      'True when the record matched existing scored data, whose values then fill in fields that were ' +
        'not sent. False for a cold record. It describes how complete the input is, not how good the ' +
        'score is.',
      flag,
    ),
    'crm_id?': { type: 'string', maxLength: 255, description: 'The `crm_id` sent with the record.' },
    'previous_score?': described('The previous score for the same crm_id and model. Absent without one.', score),
    'delta?': {
      type: 'integer',
      minimum: -100,
      maximum: 100,
      description: '`score` minus `previous_score`. Absent without a previous score.',
    },
    'drivers?': {
      type: 'array',
      maxItems: 10,
      items: driverSchema,
      description: 'The fields with the largest contributions, strongest first. Only with `explain`.',
    },
    'top_reason_1?': topReason('first'),
    'top_reason_2?': topReason('second'),
    'top_reason_3?': topReason('third'),
    'warnings?': described(
      "Present only when the record's age is outside the range of the training data. The score is " + 'unchanged.',
      list(text),
    ),
    'input?': inputSchema,
  }) as const;

/** V1ScoreRow. */
export const scoreRowSchema = describedObject('The score of one record.', rowMembers('conversion_likelihood'));

/** A row in the replies of the aliases. */
export const legacyScoreRowSchema = describedObject(
  'The score of one record in the format before v1: the likelihood is called `probability`.',
  rowMembers('probability'),
);

export const testSchema = {
  type: 'boolean',
  const: true,
  description: 'Present, and true, only for test keys.',
} as const;

export const noticesSchema = described(
  'Sentences about the request: members that are unknown and look like misspelt ones, and an empty `Idempotency-Key`. ' +
    'Absent without any.',
  list(text),
  { examples: [['"explian" is unknown and was ignored: did you mean "explain"?']] },
);

/** The model and the version that scored. */
export const usedModelMembers = {
  model_id: described('The model used.', modelIdSchema),
  model_version: described(
    'The version that scored, as `GET /v1/models` names it. A replay names the version that scored then.',
    text,
    { examples: ['2026-10-02'] },
  ),
} as const;

const responseSchema = <Row extends Schema>(row: Row, description: string) =>
  describedObject(description, {
    ...usedModelMembers,
    scores: described('One row per record, in the order of the request.', list(row)),
    'records_scored?': described('Records scored in this call.', count),
    'cache_hits?': described('The number of records that matched existing scored data.', count),
    usage: usageSchema,
    validation: validationSchema,
    'test?': testSchema,
    'notices?': noticesSchema,
    'input_summary?': inputSummarySchema,
  });

/** V1ScoreResponse: the reply of `POST /v1/score`. */
export const scoreResponseSchema = responseSchema(
  scoreRowSchema,
  'The scores of a batch, with the usage so far and the verdict on the model.',
);

/** The reply of the alias `POST /score`. */
export const legacyScoreResponseSchema = responseSchema(
  legacyScoreRowSchema,
  'The scores of a batch in the format before v1: the likelihood is called `probability`.',
);
