import { modelListSchema, modelSchema } from '../../schemas/model.js';
import { monthUsageSchema } from '../../schemas/usage.js';
import { type ErrorResponseOptions, errorResponses } from '../error-responses.js';
import { readExamples } from '../examples.js';
import { readHeaders } from '../headers.js';
import type { Operation } from '../openapi-types.js';
import { parameters } from '../parameters.js';

/** `GET /v1/models`. */
export function listModelsOperation(options: ErrorResponseOptions): Operation {
  return {
    operationId: 'listModels',
    summary: 'List the models',
    description: 'Returns the models of the workspace, oldest first. A call can name each of them as `model_id`.',
    tags: ['Models'],
    parameters: [parameters.requestId],
    responses: {
      200: {
        description: 'The models.',
        headers: readHeaders,
        content: {
          'application/json': { schema: modelListSchema, examples: readExamples('models', 'replies') },
        },
      },
      ...errorResponses(['refusedRequest', 'invalidApiKey', 'rateLimited', 'internalError'], options),
    },
  };
}

/** `GET /v1/models/{model_id}`. */
export function getModelOperation(options: ErrorResponseOptions): Operation {
  return {
    operationId: 'getModel',
    summary: 'Read one model',
    description:
      'Returns one model with the fields to send and how their values are read. The verdict includes the ' +
      'gates and their figures.',
    tags: ['Models'],
    parameters: [parameters.modelId, parameters.requestId],
    responses: {
      200: {
        description: 'The model.',
        headers: readHeaders,
        content: {
          'application/json': { schema: modelSchema, examples: readExamples('model', 'replies') },
        },
      },
      ...errorResponses(['refusedRequest', 'invalidApiKey', 'modelNotFound', 'rateLimited', 'internalError'], options),
    },
  };
}

/** `GET /v1/usage`. */
export function usageOperation(options: ErrorResponseOptions): Operation {
  return {
    operationId: 'getUsage',
    summary: "Read this month's usage",
    description:
      'Returns the number of records scored this month with keys of this kind (live or test), and the ' +
      'remaining number.',
    tags: ['Usage'],
    parameters: [parameters.requestId],
    responses: {
      200: {
        description: 'The usage so far.',
        headers: readHeaders,
        content: {
          'application/json': { schema: monthUsageSchema, examples: readExamples('usage', 'replies') },
        },
      },
      ...errorResponses(['refusedRequest', 'invalidApiKey', 'rateLimited', 'internalError'], options),
    },
  };
}
