import type { LikelihoodName } from '../score-reply.js';

const scoreSchema = { type: 'integer', minimum: 0, maximum: 100 } as const;

export const likelihoodSchema = {
  type: 'number',
  minimum: 0,
  maximum: 1,
  description: 'Conversion likelihood from 0 to 1, with 4 decimal places.',
} as const;

/** One field's share in a score. Every value is text, as some CRMs cannot read a member of mixed types. */
export const driverSchema = {
  type: 'object',
  required: ['field', 'value', 'contribution', 'direction', 'label'],
  properties: {
    field: { type: 'string', description: 'Name of the CRM field.' },
    value: { type: 'string', description: 'The value that was scored, as text; empty where it is missing.' },
    contribution: {
      type: 'string',
      pattern: '^-?[0-9]+\\.[0-9]{4}$',
      description:
        "How far the field moves the model's log-odds, with 4 decimal places. Contributions do not sum to the score.",
      examples: ['0.8123'],
    },
    direction: {
      type: 'string',
      enum: ['positive', 'negative'],
      description: 'Whether the field raises or lowers the score.',
    },
    label: { type: 'string', description: 'What people call the field.' },
  },
  description: "What one field adds to a record's score or takes from it.",
} as const;

const topReason = (rank: string) =>
  ({
    type: ['string', 'null'],
    description: `The ${rank} driver in words; null where there is none. Only with \`explain\`.`,
    examples: ['Lead source is Webinar (raises the score)'],
  }) as const;

/** The members of a row that every form of answer has, by what the likelihood is called. */
export const rowProperties = (likelihoodName: LikelihoodName) =>
  ({
    score: { ...scoreSchema, description: 'Fit score, 0-100: a ranking, not a percentage chance.' },
    [likelihoodName]: likelihoodSchema,
    enriched: {
      type: 'boolean',
      description:
        'True when the record matched data that was scored before, which then fills in fields that were not sent. False ' +
        'for a cold record. It says how complete the input is, not how good the score is.',
    },
    crm_id: { type: 'string', maxLength: 255, description: 'The id that was sent with the record.' },
    previous_score: {
      ...scoreSchema,
      description: 'The score before this one, for the same crm_id and model, where there is one.',
    },
    delta: {
      type: 'integer',
      minimum: -100,
      maximum: 100,
      description: '`score` minus `previous_score`, where there is one.',
    },
    drivers: {
      type: 'array',
      maxItems: 10,
      items: driverSchema,
      description: 'The fields that move the score the most, the strongest first. Only with `explain`.',
    },
    top_reason_1: topReason('first'),
    top_reason_2: topReason('second'),
    top_reason_3: topReason('third'),
    warnings: {
      type: 'array',
      items: { type: 'string' },
      description:
        "Present only when the record's age is outside what the model was trained on. The score is unchanged.",
    },
  }) as const;

/** The members of a row that are always there. */
export const requiredOfRow = (likelihoodName: LikelihoodName) =>
  ['score', likelihoodName, 'enriched'] as const;

/** V1ScoreRow. */
export const scoreRowSchema = {
  type: 'object',
  required: requiredOfRow('conversion_likelihood'),
  properties: rowProperties('conversion_likelihood'),
  description: 'The score of one record.',
} as const;

/** A row as the aliases give it. */
export const legacyScoreRowSchema = {
  type: 'object',
  required: requiredOfRow('probability'),
  properties: rowProperties('probability'),
  description: 'The score of one record, as before v1: the likelihood is called `probability`.',
} as const;
