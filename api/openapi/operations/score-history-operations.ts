import { scoreHistorySchema } from '../../schemas/score-history.js';
import { type ErrorResponseOptions, errorResponses } from '../error-responses.js';
import type { Operation } from '../openapi-types.js';
import { parameters } from '../parameters.js';
import { exampleModelId } from './example-values.js';
import { readHeaders } from './usage-operation.js';

const page = {
  crm_id: 'LEAD-00042',
  scores: [
    {
      model_id: exampleModelId,
      model_version: '2026-10-02',
      score: 87,
      conversion_likelihood: 0.6214,
      scored_at: '2026-11-21T09:03:14.000Z',
    },
    {
      model_id: exampleModelId,
      model_version: '2026-10-02',
      score: 74,
      conversion_likelihood: 0.4417,
      scored_at: '2026-11-02T16:40:51.000Z',
    },
  ],
  next_cursor: 'MDFrYTd6eTJtY3c5Z2IzcmRoNHQ1djZ4N3kuMDAwMA',
};

/** `GET /v1/scores/{crm_id}`. */
export function scoreHistoryOperation(options: ErrorResponseOptions): Operation {
  return {
    operationId: 'getScoreHistory',
    summary: 'Read what a record has been scored',
    description:
      'Every score under one `crm_id`, the newest first, a page at a time. Live keys record scores; test keys do not.',
    tags: ['Score history'],
    parameters: [
      parameters.crmId,
      parameters.onlyModelId,
      parameters.limit,
      parameters.cursor,
      parameters.requestId,
    ],
    responses: {
      200: {
        description: 'A page of the history.',
        headers: readHeaders,
        content: {
          'application/json': {
            schema: scoreHistorySchema,
            examples: { page: { summary: 'A page with more behind it', value: page } },
          },
        },
      },
      ...errorResponses(
        ['refusedRequest', 'invalidApiKey', 'notFound', 'unreadableRequest', 'rateLimited', 'internalError'],
        options,
      ),
    },
  };
}

/** `DELETE /v1/scores/{crm_id}`. */
export function eraseScoresOperation(options: ErrorResponseOptions): Operation {
  return {
    operationId: 'eraseScores',
    summary: 'Erase what is kept of a record',
    description:
      'Takes the `crm_id` and the fields out of every score that was recorded for it, for good, and out of replies that ' +
      'are kept to be replayed: these give the score alone. What was counted stays counted. What calls leave that are ' +
      'under way meanwhile is erased some minutes later. The scores of all models are erased: a call with `model_id` in ' +
      'its address is refused. A test key erases nothing.',
    tags: ['Score history'],
    parameters: [parameters.crmId, parameters.requestId],
    responses: {
      204: { description: 'Nothing is kept under this crm_id any more.', headers: readHeaders },
      ...errorResponses(
        ['refusedRequest', 'invalidApiKey', 'notFound', 'rateLimited', 'internalError'],
        options,
      ),
    },
  };
}
