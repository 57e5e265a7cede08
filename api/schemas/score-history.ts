import { described, describedObject, instant, list, score, text } from '../../shared/contract/schema.js';
import { crmIdTextSchema, modelIdSchema } from './scoring/score-request.js';
import { likelihoodSchema } from './scoring/score-response.js';

/** The number of entries on a page of the history. */
export const historyLimitSchema = { type: 'integer', minimum: 1, maximum: 200, default: 50 } as const;

/** One past score. */
export const pastScoreSchema = describedObject('One past score of a record.', {
  model_id: described('The model that scored.', modelIdSchema),
  model_version: described('The version of the model at that time.', text),
  score: described('Fit score, 0-100.', score),
  conversion_likelihood: likelihoodSchema,
  scored_at: described('When the record was scored (UTC).', instant),
});

/** The reply of `GET /v1/scores/{crm_id}`. */
export const scoreHistorySchema = describedObject('A page of the past scores of a record.', {
  crm_id: described('The requested id.', crmIdTextSchema),
  scores: described('The scores, newest first.', list(pastScoreSchema)),
  'next_cursor?': described('Send it as `cursor` to read the next page. Absent on the last page.', text),
});
