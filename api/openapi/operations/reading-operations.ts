import type { ErrorName } from '../../../shared/contract/errors.js';
import type { Schema } from '../../../shared/contract/schema.js';
import { maxValues } from '../../request/parse-json.js';
import { coverageSchema } from '../../schemas/coverage.js';
import { modelListSchema, modelSchema } from '../../schemas/model.js';
import { maxFileRows, outcomesFileSchema, outcomesReplySchema, outcomesRequestSchema } from '../../schemas/outcomes.js';
import { scoreHistorySchema } from '../../schemas/score-history.js';
import { dailyUsageSchema, monthUsageSchema } from '../../schemas/usage.js';
import {
  outcomeWebhookFormSchema,
  outcomeWebhookReplySchema,
  outcomeWebhookSchema,
} from '../../schemas/webhook-outcome.js';
import { parameters, readHeaders, webhookSecurity } from '../components.js';
import { errorResponses } from '../error-responses.js';
import { jsonBody, jsonReply, readExamples } from '../examples.js';
import type { Operation, Response } from '../openapi-types.js';
import { fileParameters } from '../outcome-parameters.js';

/** The replies of a reading endpoint: the successful one, and the errors of all reading endpoints and of this one. */
const replies = (docsUrl: string, ok: Readonly<Record<number, Response>>, errors: readonly ErrorName[] = []) => ({
  ...ok,
  ...errorResponses(['refusedRequest', 'invalidApiKey', ...errors, 'rateLimited', 'internalError'], { docsUrl }),
});

const okReply = (description: string, schema: Schema, operation: string) => ({
  200: jsonReply({ description, headers: readHeaders }, schema, operation),
});

/** `GET /v1/models`. */
export const listModelsOperation = (docsUrl: string): Operation => ({
  operationId: 'listModels',
  summary: 'List the models',
  description: 'Returns the models of the workspace, oldest first. A call can name each of them as `model_id`.',
  tags: ['Models'],
  parameters: [parameters.requestId],
  responses: replies(docsUrl, okReply('The models.', modelListSchema, 'models')),
});

/** `GET /v1/models/{model_id}`. */
export const getModelOperation = (docsUrl: string): Operation => ({
  operationId: 'getModel',
  summary: 'Read one model',
  description:
    'Returns one model with the fields to send and how their values are read. The verdict includes the ' +
    'gates and their figures.',
  tags: ['Models'],
  parameters: [parameters.modelId, parameters.requestId],
  responses: replies(docsUrl, okReply('The model.', modelSchema, 'model'), ['modelNotFound']),
});

/** `GET /v1/models/{model_id}/coverage`. */
export const coverageOperation = (docsUrl: string): Operation => ({
  operationId: 'getModelCoverage',
  summary: "Read how a model's fields were read",
  description:
    'Returns for each field of a model, over the last days and by day: how many scored records had a value, and how ' +
    'many values were unreadable or not seen in training. It shows a CRM that stopped sending a field, or began to ' +
    'send other values. Records of live keys and bulk jobs count; those of test keys do not. The counts may be up to ' +
    'a minute old. They are no measure of usage. They are kept for 90 days at most. A model with thousands of ' +
    'fields has fewer days in one reply.',
  tags: ['Models'],
  parameters: [parameters.modelId, parameters.days, parameters.version, parameters.requestId],
  responses: replies(docsUrl, okReply('The coverage.', coverageSchema, 'coverage'), [
    'modelNotFound',
    'unreadableRequest',
  ]),
});

/** `GET /v1/usage`. */
export const usageOperation = (docsUrl: string): Operation => ({
  operationId: 'getUsage',
  summary: "Read this month's usage",
  description:
    'Returns the number of records scored this month with keys of this kind (live or test), and the ' +
    'remaining number.',
  tags: ['Usage'],
  parameters: [parameters.requestId],
  responses: replies(docsUrl, okReply('The usage so far.', monthUsageSchema, 'usage')),
});

/** `GET /v1/usage/daily`. */
export const dailyUsageOperation = (docsUrl: string): Operation => ({
  operationId: 'getDailyUsage',
  summary: 'Read the usage of a month by day',
  description:
    'Returns the number of records scored on each day (UTC) of a month with keys of this kind (live or test). It equals ' +
    'the ledger that the monthly usage is counted from. Any key may read it.',
  tags: ['Usage'],
  parameters: [parameters.month, parameters.requestId],
  responses: replies(
    docsUrl,
    {
      200: {
        description: 'The days of the month.',
        headers: readHeaders,
        content: jsonBody(dailyUsageSchema, 'usage', 'days'),
      },
    },
    ['unreadableRequest'],
  ),
});

/** `GET /v1/scores/{crm_id}`. */
export const scoreHistoryOperation = (docsUrl: string): Operation => ({
  operationId: 'getScoreHistory',
  summary: 'Read the past scores of a record',
  description:
    'Returns every score under one `crm_id`, newest first, in pages. A page may have fewer scores than ' +
    '`limit`. Only live keys store and read scores; test keys get 404.',
  tags: ['Score history'],
  parameters: [parameters.crmId, parameters.onlyModelId, parameters.limit, parameters.cursor, parameters.requestId],
  responses: replies(docsUrl, okReply('A page of the history.', scoreHistorySchema, 'score-history'), [
    'notFound',
    'unreadableRequest',
  ]),
});

/** `DELETE /v1/scores/{crm_id}`. */
export const eraseScoresOperation = (docsUrl: string): Operation => ({
  operationId: 'eraseScores',
  summary: 'Erase the stored data of a record',
  description:
    'Permanently removes the `crm_id` and the fields from every recorded score of the record, for all ' +
    'models. Stored replies of idempotent calls lose them too: a replay then contains the score only. ' +
    'Counted usage stays counted. The coverage of a model keeps unseen values, which name no record. Calls in flight may still store data; a second erasure removes it ' +
    'some minutes later. A call with `model_id` in the query is refused. With a test key, nothing is ' +
    'erased.',
  tags: ['Score history'],
  parameters: [parameters.crmId, parameters.requestId],
  responses: replies(
    docsUrl,
    { 204: { description: 'Nothing is stored under this crm_id any more.', headers: readHeaders } },
    ['notFound'],
  ),
});

/** `POST /v1/outcomes`. */
export const outcomesOperation = (docsUrl: string): Operation => ({
  operationId: 'recordOutcomes',
  summary: 'Report the outcomes of leads',
  description:
    'Stores which leads converted and which did not; models are graded by it. Report every scored ' +
    'lead, also those that did not convert. Report a lead again when its outcome changes; the latest ' +
    'report counts, and of several conversions the earliest. Sending a call twice changes nothing. With a test key, the call is validated and ' +
    `nothing is stored. A body has at most ${maxValues.ofOutcomes} values. A workspace may have outcomes of 10,000 leads. ` +
    'If that is more, it may have five for each record of its monthly limit, in each month that scores are kept. A trial ' +
    'counts as one month. A call above that is refused with 400, and nothing of it is stored. The outcome of a lead that has no stored score is removed 180 days after its report.\n\n' +
    `A file is sent as \`text/csv\`, with at most ${maxFileRows} rows and 8 MiB, unless the operator has set another limit. Each row ` +
    'is stored or named in `problems`. Names of columns and values of outcomes are parameters. ' +
    '`leadscore outcomes import --key KEY FILE` cuts larger files.',
  tags: ['Outcomes'],
  parameters: [...fileParameters, parameters.requestId],
  requestBody: {
    description: 'The outcomes, as JSON or as a file.',
    required: true,
    content: {
      ...jsonBody(outcomesRequestSchema, 'outcomes'),
      'text/csv': { schema: outcomesFileSchema, examples: readExamples('outcomes', 'csv') },
    },
  },
  responses: replies(docsUrl, okReply('All outcomes were stored.', outcomesReplySchema, 'outcomes'), [
    'unreadableRequest',
  ]),
});

/** `POST /v1/webhooks/outcome`. */
export const outcomeWebhookOperation = (docsUrl: string): Operation => ({
  operationId: 'outcomeWebhook',
  summary: 'Report the outcome of one lead from a webhook',
  description:
    'Stores whether one lead converted, from the body of a CRM or automation tool. Formats, keys and ids are those of ' +
    '`POST /v1/webhooks/score`, and the rules of outcomes those of `POST /v1/outcomes`. An outcome that means neither won nor ' +
    'lost is accepted and stored as nothing; the reply says so. So a workflow may report each change of a stage. The stages of ' +
    'your CRM are settings of the organisation: `leadscore org set ORG --won-values ... --lost-values ...`. A tool that cannot ' +
    'send `outcome` names the field that holds it in the address.',
  tags: ['Outcomes'],
  security: webhookSecurity,
  parameters: [parameters.outcomeField, parameters.atField, parameters.requestId],
  requestBody: {
    description:
      'The outcome of one lead, in the format of the tool. Content types and encodings are those of the score webhook.',
    required: true,
    content: {
      ...jsonBody(outcomeWebhookSchema, 'webhook-outcome'),
      'application/x-www-form-urlencoded': {
        schema: outcomeWebhookFormSchema,
        examples: readExamples('webhook-outcome', 'form'),
      },
    },
  },
  responses: replies(docsUrl, okReply('The report was read.', outcomeWebhookReplySchema, 'webhook-outcome'), [
    'unreadableRequest',
  ]),
});
