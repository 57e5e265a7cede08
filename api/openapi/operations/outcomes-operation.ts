import { mostValues } from '../../body-values.js';
import { outcomesReplySchema, outcomesRequestSchema } from '../../schemas/outcomes.js';
import { type ErrorResponseOptions, errorResponses } from '../error-responses.js';
import type { Operation } from '../openapi-types.js';
import { parameters } from '../parameters.js';
import { readHeaders } from './usage-operation.js';

const outcomes = [
  { crm_id: 'LEAD-00042', converted: true, at: '2026-11-21T14:05:00Z' },
  { crm_id: 'LEAD-00043', converted: false, at: '2026-11-21' },
];

/** `POST /v1/outcomes`. */
export function outcomesOperation(options: ErrorResponseOptions): Operation {
  return {
    operationId: 'recordOutcomes',
    summary: 'Say what became of leads',
    description:
      'Takes down which leads have converted, and which have not: by this the models are graded. Name every lead that was ' +
      'scored, also those that have not converted, and send a lead again when something changes; the newest word counts. ' +
      'Sending a call twice changes nothing. A test key checks a call without keeping any of it. A body has at most ' +
      `${mostValues.ofOutcomes} values.`,
    tags: ['Outcomes'],
    parameters: [parameters.requestId],
    requestBody: {
      description: 'The outcomes.',
      required: true,
      content: {
        'application/json': {
          schema: outcomesRequestSchema,
          examples: { outcomes: { summary: 'One lead converted, one did not', value: { outcomes } } },
        },
      },
    },
    responses: {
      200: {
        description: 'All of them were taken down.',
        headers: readHeaders,
        content: {
          'application/json': {
            schema: outcomesReplySchema,
            examples: { outcomes: { summary: 'Two outcomes', value: { accepted: outcomes.length } } },
          },
        },
      },
      ...errorResponses(
        ['refusedRequest', 'invalidApiKey', 'unreadableRequest', 'rateLimited', 'internalError'],
        options,
      ),
    },
  };
}
