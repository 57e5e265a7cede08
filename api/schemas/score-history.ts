import { crmIdSchema, modelIdSchema } from './score-request.js';
import { likelihoodSchema } from './score-row.js';

/** How many entries a page of the history has. */
export const historyLimitSchema = { type: 'integer', minimum: 1, maximum: 200, default: 50 } as const;

/** One score of the past. */
export const pastScoreSchema = {
  type: 'object',
  required: ['model_id', 'model_version', 'score', 'conversion_likelihood', 'scored_at'],
  properties: {
    model_id: { ...modelIdSchema, description: 'The model that scored.' },
    model_version: { type: 'string', description: 'Its version at that time.' },
    score: { type: 'integer', minimum: 0, maximum: 100, description: 'Fit score, 0-100.' },
    conversion_likelihood: likelihoodSchema,
    scored_at: { type: 'string', format: 'date-time', description: 'When it was scored (UTC).' },
  },
  description: 'What a record was scored at one time.',
} as const;

/** The answer of `GET /v1/scores/{crm_id}`. */
export const scoreHistorySchema = {
  type: 'object',
  required: ['crm_id', 'scores'],
  properties: {
    crm_id: { ...crmIdSchema, description: 'The id that was asked for.' },
    scores: { type: 'array', items: pastScoreSchema, description: 'The scores, the newest first.' },
    next_cursor: {
      type: 'string',
      description: 'Send it as `cursor` to read the next page. Absent on the last page.',
    },
  },
  description: 'A page of what a record has been scored.',
} as const;
