import { monthUsageSchema } from '../../schemas/usage.js';
import { type ErrorResponseOptions, errorResponses } from '../error-responses.js';
import { headers, rateHeaders } from '../headers.js';
import type { Operation } from '../openapi-types.js';
import { parameters } from '../parameters.js';
import { exampleUsage } from './example-values.js';

/** The headers of the success of a reading call. */
export const readHeaders = { 'X-Request-Id': headers.requestId, ...rateHeaders };

/** `GET /v1/usage`. */
export function usageOperation(options: ErrorResponseOptions): Operation {
  return {
    operationId: 'getUsage',
    summary: "Read this month's usage",
    description:
      'How many records have been scored this month with keys of this kind (live or test), and what is left.',
    tags: ['Usage'],
    parameters: [parameters.requestId],
    responses: {
      200: {
        description: 'The usage so far.',
        headers: readHeaders,
        content: {
          'application/json': {
            schema: monthUsageSchema,
            examples: {
              usage: {
                summary: 'A live key',
                value: { ...exampleUsage, month: '2026-11', resets_at: '2026-12-01T00:00:00.000Z' },
              },
            },
          },
        },
      },
      ...errorResponses(['refusedRequest', 'invalidApiKey', 'rateLimited', 'internalError'], options),
    },
  };
}
