import { mostValues } from '../../body-values.js';
import { webhookReplySchema } from '../../schemas/webhook-reply.js';
import { webhookFormSchema, webhookRequestSchema } from '../../schemas/webhook-request.js';
import { type ErrorResponseOptions, errorResponses } from '../error-responses.js';
import type { Operation, RequestBody } from '../openapi-types.js';
import { parameters } from '../parameters.js';
import { webhookSecurity } from '../security-schemes.js';
import { exampleModelId } from './example-values.js';
import { scoredHeaders, scoringErrors } from './score-operation.js';
import { webhookReplyExamples, webhookRequestExamples } from './webhook-examples.js';

const requestBody: RequestBody = {
  description: 'One record, in the form in which the tool sends it.',
  required: true,
  content: {
    'application/json': { schema: webhookRequestSchema, examples: webhookRequestExamples },
    'application/x-www-form-urlencoded': {
      schema: webhookFormSchema,
      examples: {
        form: {
          summary: 'A form',
          value: { model_id: exampleModelId, lead_source: 'Webinar', company_size: '120' },
        },
      },
    },
    'text/plain': {
      schema: {
        type: 'string',
        contentMediaType: 'application/json',
        contentSchema: webhookRequestSchema,
        description: 'The JSON of any of the forms, for tools that cannot set a content type.',
      },
      examples: {
        text: {
          summary: 'JSON as text',
          value: `{"model_id":"${exampleModelId}","lead_source":"Webinar","company_size":120}`,
        },
      },
    },
  },
};

/** `POST /v1/webhooks/score`. */
export function webhookOperation(options: ErrorResponseOptions): Operation {
  return {
    operationId: 'scoreWebhook',
    summary: 'Score one record from a webhook',
    description:
      'Scores one record in the form in which CRMs and automation tools send it, and answers flat. It counts as one ' +
      'record, as in a batch.\n\nThe key may come as Bearer, in `X-API-Key`, or as the user name of HTTP Basic. The model ' +
      'may stand in the body or in the address. The forms are told apart by their members, in this order: `record` (the ' +
      'plain form), `inputFields` (a custom action of HubSpot), `properties` (a workflow of HubSpot), `meta` and `data` ' +
      '(Pipedrive), else flat: `model_id`, `crm_id` and `explain` are settings, everything else is a field. One form as ' +
      "the single element of an array is fine too, and so is what n8n puts around one. HubSpot's app events do not hold the record's fields: they are " +
      `refused with a message that says what to send instead. A body has at most ${mostValues.ofRecord} values.`,
    tags: ['Scoring'],
    security: webhookSecurity,
    parameters: [
      parameters.webhookModelId,
      parameters.webhookExplain,
      parameters.idempotencyKey,
      parameters.requestId,
    ],
    requestBody,
    responses: {
      200: {
        description: 'The record was scored, recorded and counted.',
        headers: scoredHeaders,
        content: { 'application/json': { schema: webhookReplySchema, examples: webhookReplyExamples } },
      },
      ...errorResponses(scoringErrors, options),
    },
  };
}
