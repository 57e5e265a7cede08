import { crmIdSchema, modelIdSchema } from './score-request.js';
import { likelihoodSchema } from './score-row.js';

/** The number of entries on a page of the history. */
export const historyLimitSchema = { type: 'integer', minimum: 1, maximum: 200, default: 50 } as const;

/** One past score. */
export const pastScoreSchema = {
  type: 'object',
  required: ['model_id', 'model_version', 'score', 'conversion_likelihood', 'scored_at'],
  properties: {
    model_id: { ...modelIdSchema, description: 'The model that scored.' },
    model_version: { type: 'string', description: 'The version of the model at that time.' },
    score: { type: 'integer', minimum: 0, maximum: 100, description: 'Fit score, 0-100.' },
    conversion_likelihood: likelihoodSchema,
    scored_at: { type: 'string', format: 'date-time', description: 'When the record was scored (UTC).' },
  },
  description: 'One past score of a record.',
} as const;

/** The reply of `GET /v1/scores/{crm_id}`. */
export const scoreHistorySchema = {
  type: 'object',
  required: ['crm_id', 'scores'],
  properties: {
    crm_id: { ...crmIdSchema, description: 'The requested id.' },
    scores: { type: 'array', items: pastScoreSchema, description: 'The scores, newest first.' },
    next_cursor: {
      type: 'string',
      description: 'Send it as `cursor` to read the next page. Absent on the last page.',
    },
  },
  description: 'A page of the past scores of a record.',
} as const;
