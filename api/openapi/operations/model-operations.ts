import { modelListSchema, modelSchema } from '../../schemas/model.js';
import { type ErrorResponseOptions, errorResponses } from '../error-responses.js';
import type { Operation } from '../openapi-types.js';
import { parameters } from '../parameters.js';
import { exampleModelId, exampleVerdict, exampleVerdictDetail } from './example-values.js';
import { readHeaders } from './usage-operation.js';

const summary = {
  model_id: exampleModelId,
  name: 'Inbound leads',
  family: 'forward',
  version: '2026-10-02',
  live_api: true,
  validation: exampleVerdict,
};

/** `GET /v1/models`. */
export function listModelsOperation(options: ErrorResponseOptions): Operation {
  return {
    operationId: 'listModels',
    summary: 'List the models',
    description: 'The models of the workspace, the oldest first: those that a call can name as `model_id`.',
    tags: ['Models'],
    parameters: [parameters.requestId],
    responses: {
      200: {
        description: 'The models.',
        headers: readHeaders,
        content: {
          'application/json': {
            schema: modelListSchema,
            examples: { models: { summary: 'One model', value: { models: [summary] } } },
          },
        },
      },
      ...errorResponses(['refusedRequest', 'invalidApiKey', 'rateLimited', 'internalError'], options),
    },
  };
}

const detail = {
  ...summary,
  validation: exampleVerdictDetail,
  fields: [
    { field: 'company_size', label: 'Company size', type: 'number', required: false },
    {
      field: 'lead_source',
      label: 'Lead source',
      type: 'category',
      required: false,
      categories: ['Webinar', 'Referral'],
      aliases: ['LeadSource'],
    },
  ],
  recency: { field: 'created_at', max_age_days: 365 },
  explain: { method: 'tree' },
};

/** `GET /v1/models/{model_id}`. */
export function getModelOperation(options: ErrorResponseOptions): Operation {
  return {
    operationId: 'getModel',
    summary: 'Read one model',
    description:
      'One model with the fields that it knows: what to send, and how it is read. Its verdict comes with the gates and the ' +
      'figures that it was graded by.',
    tags: ['Models'],
    parameters: [parameters.modelId, parameters.requestId],
    responses: {
      200: {
        description: 'The model.',
        headers: readHeaders,
        content: {
          'application/json': {
            schema: modelSchema,
            examples: { model: { summary: 'A model with two fields', value: detail } },
          },
        },
      },
      ...errorResponses(
        ['refusedRequest', 'invalidApiKey', 'modelNotFound', 'rateLimited', 'internalError'],
        options,
      ),
    },
  };
}
