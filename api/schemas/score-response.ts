import { countSchema, objectSchema } from './object-schema.js';
import { modelIdSchema } from './score-request.js';
import { legacyScoreRowSchema, scoreRowSchema } from './score-row.js';
import { usageSchema } from './usage.js';
import { validationSchema } from './validation.js';

export const testSchema = {
  type: 'boolean',
  const: true,
  description: 'Present, and true, only for test keys.',
} as const;

const responseSchema = <Row extends object>(row: Row, description: string) =>
  objectSchema(description, {
    model_id: { ...modelIdSchema, description: 'The model used.' },
    scores: {
      type: 'array',
      items: row,
      description: 'One row per record, in the order of the request.',
    },
    'records_scored?': countSchema('Records scored in this call.'),
    'cache_hits?': countSchema('The number of records that matched existing scored data.'),
    usage: usageSchema,
    validation: validationSchema,
    'test?': testSchema,
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
