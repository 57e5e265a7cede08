import type { ErrorName } from '../../../shared/contract/errors.js';
import type { Schema } from '../../../shared/contract/schema.js';
import { maxNameCharacters } from '../../dispatch/field-names.js';
import { maxValues } from '../../request/parse-json.js';
import { scoreRequestSchema } from '../../schemas/scoring/score-request.js';
import { legacyScoreResponseSchema, scoreResponseSchema } from '../../schemas/scoring/score-response.js';
import { legacyWebhookReplySchema, webhookReplySchema } from '../../schemas/scoring/webhook-reply.js';
import { webhookFormSchema, webhookRequestSchema } from '../../schemas/scoring/webhook-request.js';
import { aliasHeaders, parameters, scoredHeaders, webhookSecurity } from '../components.js';
import { type ErrorResponseOptions, errorResponses } from '../error-responses.js';
import { jsonBody, jsonReply, readExamples } from '../examples.js';
import type { Examples, Operation, RequestBody } from '../openapi-types.js';

const limitOfNames = `Its different field names have at most ${maxNameCharacters} characters in total.`;

/** The errors of both scoring endpoints. */
const scoringErrors: readonly ErrorName[] = [
  'refusedRequest',
  'invalidApiKey',
  'workspaceSuspended',
  'expiredReadOnly',
  'apiDisabled',
  'modelNotFound',
  'deployBlocked',
  'unreadableRequest',
  'rateLimited',
  'quotaExceeded',
  'internalError',
];

/** `POST /v1/score`. */
export function scoreOperation(options: ErrorResponseOptions): Operation {
  return {
    operationId: 'scoreRecords',
    summary: 'Score a batch of records',
    description:
      'Scores up to 1000 records with one model. The reply has one row per record, in the order of the ' +
      'request. Each record counts one towards the month; a failed call counts nothing.\n\nThe body is ' +
      'JSON in UTF-8, at most 8 MiB unless the operator has set another limit. It may be compressed with ' +
      `\`Content-Encoding: gzip\`. All records together have at most ${maxValues.ofBatch} values, ` +
      `and one record at most ${maxValues.ofRecord}. ${limitOfNames}`,
    tags: ['Scoring'],
    parameters: [parameters.idempotencyKey, parameters.requestId],
    requestBody: {
      description: 'The model and the records.',
      required: true,
      content: jsonBody(scoreRequestSchema, 'score'),
    },
    responses: {
      200: jsonReply(
        { description: 'The records were scored, recorded and counted.', headers: scoredHeaders },
        scoreResponseSchema,
        'score',
      ),
      ...errorResponses(['recordLimitExceeded', ...scoringErrors], options),
    },
  };
}

/** `POST /v1/webhooks/score`. */
export function webhookOperation(options: ErrorResponseOptions): Operation {
  return {
    operationId: 'scoreWebhook',
    summary: 'Score one record from a webhook',
    description:
      'Scores one record in the format of a CRM or automation tool, and replies with one flat object. It ' +
      'counts one record, as in a batch.\n\nThe key may be sent as Bearer, in `X-API-Key`, or as the ' +
      'user name of HTTP Basic. The model may be named in the body or in the query.\n\nThe first member ' +
      'found decides the format, in this order: `record` (plain), `inputFields` (HubSpot custom action), ' +
      '`properties` (HubSpot workflow), `meta` and `data` (Pipedrive). Without any of them the body is ' +
      'flat: `model_id`, `crm_id`, `explain` and `input_report` are settings, and every other member is a ' +
      'field. An array of one such body is accepted, and so are the wrappers of n8n. HubSpot app events are ' +
      'refused, because they do not contain the fields; the message names the alternative. A body has at ' +
      `most ${maxValues.ofRecord} values. ${limitOfNames}`,
    tags: ['Scoring'],
    security: webhookSecurity,
    parameters: [
      parameters.webhookModelId,
      parameters.webhookExplain,
      parameters.webhookInputReport,
      parameters.idempotencyKey,
      parameters.requestId,
    ],
    requestBody: webhookRequestBody(),
    responses: {
      200: jsonReply(
        { description: 'The record was scored, recorded and counted.', headers: scoredHeaders },
        webhookReplySchema,
        'webhook',
      ),
      ...errorResponses(scoringErrors, options),
    },
  };
}

// The content types text/plain and text/json are documented in words only: generators of clients cannot make a body of
// it.
const webhookRequestBody = (): RequestBody => ({
  description:
    'One record, in the format of the tool. JSON is also read as `text/plain` or `text/json`, for tools that cannot set a ' +
    'content type. It is in UTF-8, or in windows-1252 if the charset says so. `multipart/form-data` is not read.',
  required: true,
  content: {
    ...jsonBody(webhookRequestSchema, 'webhook'),
    'application/x-www-form-urlencoded': {
      schema: webhookFormSchema,
      examples: readExamples('webhook', 'form'),
    },
  },
});

/** `POST /score`. */
export const scoreAliasOperation = (docsUrl: string): Operation =>
  aliasOf(scoreOperation, docsUrl, {
    operationId: 'scoreRecordsLegacy',
    successor: '/v1/score',
    schema: legacyScoreResponseSchema,
  });

/** `POST /webhooks/score`. */
export const webhookAliasOperation = (docsUrl: string): Operation =>
  aliasOf(webhookOperation, docsUrl, {
    operationId: 'scoreWebhookLegacy',
    successor: '/v1/webhooks/score',
    schema: legacyWebhookReplySchema,
  });

function aliasOf(
  operationWith: (options: ErrorResponseOptions) => Operation,
  docsUrl: string,
  as: { readonly operationId: string; readonly successor: string; readonly schema: Schema },
): Operation {
  const options = { docsUrl, headers: aliasHeaders };
  const operation = operationWith(options);
  const { 200: scored, ...refusals } = operation.responses;
  const examples = scored?.content?.['application/json']?.examples ?? {};
  return {
    ...operation,
    operationId: as.operationId,
    summary: `${operation.summary} (deprecated)`,
    description:
      `Use \`POST ${as.successor}\` instead. The only difference is one name: here the likelihood is ` +
      'called `probability`. Every reply carries `Deprecation`, `Sunset` and `Link`. When an operator ' +
      'has switched the alias off, it returns 410 `gone`.',
    tags: ['Deprecated aliases'],
    deprecated: true,
    responses: {
      200: {
        description: scored?.description ?? '',
        headers: { ...scored?.headers, ...aliasHeaders },
        content: { 'application/json': { schema: as.schema, examples: withLegacyName(examples) } },
      },
      ...refusals,
      ...errorResponses(['gone'], { ...options, isBeforeKey: true }),
    },
  };
}

/** The examples with the likelihood under its name before v1. */
const withLegacyName = (examples: Examples): Examples =>
  JSON.parse(JSON.stringify(examples).replaceAll('"conversion_likelihood"', '"probability"')) as Examples;
