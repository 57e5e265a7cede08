import { maxValues } from '../../request/parse-json.js';
import { outcomesReplySchema, outcomesRequestSchema } from '../../schemas/outcomes.js';
import { scoreHistorySchema } from '../../schemas/score-history.js';
import { type ErrorResponseOptions, errorResponses } from '../error-responses.js';
import { readExamples } from '../examples.js';
import { readHeaders } from '../headers.js';
import type { Operation } from '../openapi-types.js';
import { parameters } from '../parameters.js';

/** `GET /v1/scores/{crm_id}`. */
export function scoreHistoryOperation(options: ErrorResponseOptions): Operation {
  return {
    operationId: 'getScoreHistory',
    summary: 'Read the past scores of a record',
    description:
      'Returns every score under one `crm_id`, newest first, in pages. A page may have fewer scores than ' +
      '`limit`. Only live keys store and read scores; test keys get 404.',
    tags: ['Score history'],
    parameters: [parameters.crmId, parameters.onlyModelId, parameters.limit, parameters.cursor, parameters.requestId],
    responses: {
      200: {
        description: 'A page of the history.',
        headers: readHeaders,
        content: {
          'application/json': {
            schema: scoreHistorySchema,
            examples: readExamples('score-history', 'replies'),
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
    summary: 'Erase the stored data of a record',
    description:
      'Permanently removes the `crm_id` and the fields from every recorded score of the record, for all ' +
      'models. Stored replies of idempotent calls lose them too: a replay then contains the score only. ' +
      'Counted usage stays counted. Calls in flight may still store data; a second erasure removes it ' +
      'some minutes later. A call with `model_id` in the query is refused. With a test key, nothing is ' +
      'erased.',
    tags: ['Score history'],
    parameters: [parameters.crmId, parameters.requestId],
    responses: {
      204: { description: 'Nothing is stored under this crm_id any more.', headers: readHeaders },
      ...errorResponses(['refusedRequest', 'invalidApiKey', 'notFound', 'rateLimited', 'internalError'], options),
    },
  };
}

/** `POST /v1/outcomes`. */
export function outcomesOperation(options: ErrorResponseOptions): Operation {
  return {
    operationId: 'recordOutcomes',
    summary: 'Report the outcomes of leads',
    description:
      'Stores which leads converted and which did not; models are graded by it. Report every scored ' +
      'lead, also those that did not convert. Report a lead again when its outcome changes; the latest ' +
      'report counts. Sending a call twice changes nothing. With a test key, the call is validated and ' +
      `nothing is stored. A body has at most ${maxValues.ofOutcomes} values.`,
    tags: ['Outcomes'],
    parameters: [parameters.requestId],
    requestBody: {
      description: 'The outcomes.',
      required: true,
      content: {
        'application/json': { schema: outcomesRequestSchema, examples: readExamples('outcomes', 'json') },
      },
    },
    responses: {
      200: {
        description: 'All outcomes were stored.',
        headers: readHeaders,
        content: {
          'application/json': { schema: outcomesReplySchema, examples: readExamples('outcomes', 'replies') },
        },
      },
      ...errorResponses(
        ['refusedRequest', 'invalidApiKey', 'unreadableRequest', 'rateLimited', 'internalError'],
        options,
      ),
    },
  };
}
