import type { ErrorName } from '../../../shared/errors.js';
import { mostValues } from '../../body-values.js';
import { scoreRequestSchema } from '../../schemas/score-request.js';
import { scoreResponseSchema } from '../../schemas/score-response.js';
import { type ErrorResponseOptions, errorResponses } from '../error-responses.js';
import { headers, rateHeaders } from '../headers.js';
import type { Examples, Operation } from '../openapi-types.js';
import { parameters } from '../parameters.js';
import {
  exampleFields,
  exampleModelId,
  exampleReasons,
  exampleTestUsage,
  exampleUsage,
  exampleVerdict,
} from './example-values.js';

/** What any scoring call may be refused with. */
export const scoringErrors: readonly ErrorName[] = [
  'refusedRequest',
  'invalidApiKey',
  'expiredReadOnly',
  'apiDisabled',
  'modelNotFound',
  'deployBlocked',
  'unreadableRequest',
  'rateLimited',
  'quotaExceeded',
  'internalError',
];

/** The headers of the 200 of a scoring call. */
export const scoredHeaders = {
  'X-Request-Id': headers.requestId,
  ...rateHeaders,
  'Idempotent-Replayed': headers.idempotentReplayed,
};

const records = [
  { crm_id: 'LEAD-00042', ...exampleFields },
  { crm_id: 'LEAD-00043', lead_source: 'Referral', company_size: '1,200' },
];
const firstRow = {
  score: 87,
  conversion_likelihood: 0.6214,
  enriched: true,
  crm_id: 'LEAD-00042',
  previous_score: 74,
  delta: 13,
};
const rest = { usage: exampleUsage, validation: exampleVerdict };

const requests: Examples = {
  batch: { summary: 'Two records', value: { model_id: exampleModelId, records } },
  explained: {
    summary: 'One record, with reasons',
    value: { model_id: exampleModelId, records: records.slice(0, 1), explain: true },
  },
};

const replies: Examples = {
  batch: {
    summary: 'One record known, one cold',
    value: {
      model_id: exampleModelId,
      scores: [firstRow, { score: 35, conversion_likelihood: 0.1138, enriched: false, crm_id: 'LEAD-00043' }],
      records_scored: 2,
      cache_hits: 1,
      ...rest,
    },
  },
  explained: {
    summary: 'With reasons',
    value: {
      model_id: exampleModelId,
      scores: [{ ...firstRow, ...exampleReasons }],
      records_scored: 1,
      cache_hits: 1,
      ...rest,
    },
  },
  testKey: {
    summary: 'With a test key',
    value: {
      model_id: exampleModelId,
      scores: [{ score: 87, conversion_likelihood: 0.6214, enriched: false }],
      records_scored: 1,
      cache_hits: 0,
      usage: exampleTestUsage,
      validation: exampleVerdict,
      test: true,
    },
  },
};

/** `POST /v1/score`. */
export function scoreOperation(options: ErrorResponseOptions): Operation {
  return {
    operationId: 'scoreRecords',
    summary: 'Score a batch of records',
    description:
      'Scores up to 1000 records with one model. The answer has one row for each record, in the order of the request. ' +
      'Each record counts one towards the month; a call that fails counts nothing.\n\nThe body is JSON in UTF-8, at ' +
      'most 8 MiB unless the operator has set another limit; it may be sent with `Content-Encoding: gzip`. All records together ' +
      `have at most ${mostValues.ofBatch} values.`,
    tags: ['Scoring'],
    parameters: [parameters.idempotencyKey, parameters.requestId],
    requestBody: {
      description: 'The model and the records.',
      required: true,
      content: { 'application/json': { schema: scoreRequestSchema, examples: requests } },
    },
    responses: {
      200: {
        description: 'The records were scored, recorded and counted.',
        headers: scoredHeaders,
        content: { 'application/json': { schema: scoreResponseSchema, examples: replies } },
      },
      ...errorResponses(['recordLimitExceeded', ...scoringErrors], options),
    },
  };
}
