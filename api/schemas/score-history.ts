import { instantSchema, objectSchema } from './object-schema.js';
import { crmIdSchema, modelIdSchema } from './scoring/score-request.js';
import { likelihoodSchema, scoreSchema } from './scoring/score-response.js';

/** The number of entries on a page of the history. */
export const historyLimitSchema = { type: 'integer', minimum: 1, maximum: 200, default: 50 } as const;

/** One past score. */
export const pastScoreSchema = objectSchema('One past score of a record.', {
  model_id: { ...modelIdSchema, description: 'The model that scored.' },
  model_version: { type: 'string', description: 'The version of the model at that time.' },
  score: { ...scoreSchema, description: 'Fit score, 0-100.' },
  conversion_likelihood: likelihoodSchema,
  scored_at: instantSchema('When the record was scored (UTC).'),
});

/** The reply of `GET /v1/scores/{crm_id}`. */
export const scoreHistorySchema = objectSchema('A page of the past scores of a record.', {
  crm_id: { ...crmIdSchema, description: 'The requested id.' },
  scores: { type: 'array', items: pastScoreSchema, description: 'The scores, newest first.' },
  'next_cursor?': {
    type: 'string',
    description: 'Send it as `cursor` to read the next page. Absent on the last page.',
  },
});
