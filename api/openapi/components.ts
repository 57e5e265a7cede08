import type { Schema } from '../../shared/contract/schema.js';
import { jobLimits } from '../../shared/store/jobs/job-documents.js';
import { coverageDaysSchema, coverageSchema, fieldCoverageSchema } from '../schemas/coverage.js';
import { deployBlockedSchema, errorSchema } from '../schemas/error.js';
import { jobLimitSchema, jobListSchema, jobSchema } from '../schemas/job.js';
import { inputNameSchema, inputSha256Schema, jobRequestSchema } from '../schemas/job-request.js';
import { modelFieldSchema, modelListSchema, modelSchema, modelSummarySchema } from '../schemas/model.js';
import { outcomeSchema, outcomesReplySchema, outcomesRequestSchema } from '../schemas/outcomes.js';
import { historyLimitSchema, pastScoreSchema, scoreHistorySchema } from '../schemas/score-history.js';
import {
  ambiguousDateSchema,
  ignoredNameSchema,
  inputFieldSchema,
  inputSchema,
  inputSummarySchema,
  jobInputFieldSchema,
  jobInputSummarySchema,
  unreadValueSchema,
  unseenValueSchema,
} from '../schemas/scoring/input-report.js';
import {
  inputReportSchema,
  modelIdSchema,
  recordSchema,
  scoreRequestSchema,
} from '../schemas/scoring/score-request.js';
import {
  driverSchema,
  legacyScoreResponseSchema,
  legacyScoreRowSchema,
  scoreResponseSchema,
  scoreRowSchema,
} from '../schemas/scoring/score-response.js';
import { legacyWebhookReplySchema, webhookReplySchema } from '../schemas/scoring/webhook-reply.js';
import {
  canonicalWebhookSchema,
  flatWebhookSchema,
  hubSpotActionSchema,
  hubSpotWorkflowSchema,
  n8nItemSchema,
  n8nNodeSchema,
  n8nSchema,
  pipedriveSchema,
  webhookFormSchema,
  webhookRequestSchema,
} from '../schemas/scoring/webhook-request.js';
import { dailyUsageSchemas, monthSchema, monthUsageSchema, usageSchema } from '../schemas/usage.js';
import { validationDetailSchema, validationSchema } from '../schemas/validation.js';
import { outcomeWebhookSchemas } from '../schemas/webhook-outcome.js';
import { exampleModelId } from './examples.js';
import type { Header, Parameter } from './openapi-types.js';
import { outcomeParameters } from './outcome-parameters.js';

/** The named schemas of the document, in reading order. */
export const componentSchemas: Readonly<Record<string, Schema>> = {
  ScoreRequest: scoreRequestSchema,
  InputRecord: recordSchema,
  V1ScoreResponse: scoreResponseSchema,
  V1ScoreRow: scoreRowSchema,
  V1Driver: driverSchema,
  V1Input: inputSchema,
  V1UnreadValue: unreadValueSchema,
  V1UnseenValue: unseenValueSchema,
  V1AmbiguousDate: ambiguousDateSchema,
  V1InputSummary: inputSummarySchema,
  V1InputField: inputFieldSchema,
  V1IgnoredName: ignoredNameSchema,
  V1Usage: usageSchema,
  V1Validation: validationSchema,
  V1Error: errorSchema,
  V1DeployBlocked: deployBlockedSchema,
  WebhookRequest: webhookRequestSchema,
  CanonicalWebhook: canonicalWebhookSchema,
  FlatWebhook: flatWebhookSchema,
  HubSpotActionWebhook: hubSpotActionSchema,
  HubSpotWorkflowWebhook: hubSpotWorkflowSchema,
  PipedriveWebhook: pipedriveSchema,
  N8nWebhook: n8nSchema,
  N8nItem: n8nItemSchema,
  N8nNode: n8nNodeSchema,
  WebhookForm: webhookFormSchema,
  V1WebhookResponse: webhookReplySchema,
  V1MonthUsage: monthUsageSchema,
  ...dailyUsageSchemas,
  V1ModelList: modelListSchema,
  V1ModelSummary: modelSummarySchema,
  V1Model: modelSchema,
  V1ModelField: modelFieldSchema,
  V1Coverage: coverageSchema,
  V1FieldCoverage: fieldCoverageSchema,
  V1ScoreHistory: scoreHistorySchema,
  V1PastScore: pastScoreSchema,
  V1ValidationDetail: validationDetailSchema,
  OutcomesRequest: outcomesRequestSchema,
  V1Outcome: outcomeSchema,
  V1OutcomesResponse: outcomesReplySchema,
  ...outcomeWebhookSchemas,
  JobRequest: jobRequestSchema,
  V1Job: jobSchema,
  V1JobInputSummary: jobInputSummarySchema,
  V1JobInputField: jobInputFieldSchema,
  V1JobList: jobListSchema,
  LegacyScoreResponse: legacyScoreResponseSchema,
  LegacyScoreRow: legacyScoreRowSchema,
  LegacyWebhookResponse: legacyWebhookReplySchema,
};

const header = (description: string, schema: Schema, example: unknown) =>
  ({ description, required: true, schema, example }) as const;

const text = { type: 'string' } as const;
const byteCount = { type: 'integer', minimum: 0, maximum: jobLimits.uploadBytes } as const;
const trueText = { type: 'string', enum: ['true'] } as const;

/** The headers of replies, by their names in `components`. */
export const headers = {
  requestId: header(
    'The id of the call in logs: your own `X-Request-Id` when it has an allowed form, else a new one.',
    { type: 'string', pattern: '^[A-Za-z0-9._:-]{1,128}$' },
    '80a30390-e343-4e9c-8f30-d4b4894c050d',
  ),
  rateLimit: header(
    'The remaining rate: `r` calls now, and the full rate after `t` seconds (draft-ietf-httpapi-ratelimit-headers).',
    { type: 'string', pattern: '^"key";r=[0-9]+;t=[0-9]+$' },
    '"key";r=9;t=1',
  ),
  rateLimitPolicy: header(
    "The key's rate: `q` calls in any `w` seconds.",
    { type: 'string', pattern: '^"key";q=[0-9]+;w=1$' },
    '"key";q=10;w=1',
  ),
  retryAfter: header(
    'Seconds until a retry can succeed. For `rate_limited`, until the next free slot. For ' +
      '`quota_exceeded`, until the end of the month (UTC), when the month clears it.',
    { type: 'integer', minimum: 1 },
    1,
  ),
  idempotentReplayed: {
    description: 'Present, and `true`, when the reply is a stored one, sent before under the same `Idempotency-Key`.',
    schema: trueText,
    example: 'true',
  },
  location: header('The address of the job.', text, '/v1/jobs/job_4kTq9Z01kb3f7q0h8m2v5t6w9x'),
  tusResumable: header('The version of tus.', text, '1.0.0'),
  tusVersion: header('The versions of tus that are served.', text, '1.0.0'),
  tusMaxSize: header('The largest file, in bytes.', byteCount, 5_368_709_120),
  uploadOffset: header('Bytes of the file that are stored.', byteCount, 1_048_576),
  uploadLength: header('Bytes of the whole file, once they are known.', byteCount, 81_264_402),
  uploadDeferLength: header('Present while the length of the file is not known.', { type: 'string', enum: ['1'] }, '1'),
  cacheControl: header('How the reply may be cached.', text, 'no-store'),
  acceptRanges: header('Parts of the file can be read with `Range`.', { type: 'string', enum: ['bytes'] }, 'bytes'),
  contentRange: header('The range, and the length of the file.', text, 'bytes 0-99/48210'),
  etag: header('The version of the file. Present once the job has ended.', text, '"job_4kTq9Z01kb3f7q0h8m2v5t6w9x.0"'),
  wwwAuthenticate: header('How to authenticate.', text, 'Bearer'),
  allow: header('The methods that the path supports.', text, 'HEAD, GET, DELETE'),
  deprecation: header('The endpoint is deprecated.', trueText, 'true'),
  sunset: header('The date when the endpoint stops working (RFC 8594).', text, 'Mon, 19 Oct 2026 00:00:00 GMT'),
  successor: header('The endpoint to use instead.', text, '</v1/score>; rel="successor-version"'),
} as const satisfies Record<string, Header>;

/** Headers on every reply to an authenticated call. */
export const rateHeaders = { RateLimit: headers.rateLimit, 'RateLimit-Policy': headers.rateLimitPolicy };

/** Headers of a successful reply to a reading call. */
export const readHeaders = { 'X-Request-Id': headers.requestId, ...rateHeaders };

/** Headers of a successful reply to a scoring call. */
export const scoredHeaders = { ...readHeaders, 'Idempotent-Replayed': headers.idempotentReplayed };

/** Headers on every reply of a deprecated alias. */
export const aliasHeaders = {
  Deprecation: headers.deprecation,
  Sunset: headers.sunset,
  Link: headers.successor,
};

/** The same headers, none of them required. */
export function optional(some: Readonly<Record<string, Header>>): Record<string, Header> {
  return Object.fromEntries(Object.entries(some).map(([name, { required: _required, ...header }]) => [name, header]));
}

const { description: _, ...modelId } = modelIdSchema;

/** @param example only of a required parameter: reference pages fill it in and send it */
const parameter = (
  location: Parameter['in'],
  name: string,
  description: string,
  schema: Schema,
  example?: string | number,
) =>
  ({
    ...{ name, in: location, ...(location === 'path' && { required: true }), description, schema },
    ...(example !== undefined && { example }),
  }) as const;

/** The parameters of calls, by their names in `components`. */
export const parameters = {
  requestId: parameter(
    'header',
    'X-Request-Id',
    'Your id for the call, such as `import-2026-11-21.0001`: 1-128 characters of `A-Z a-z 0-9 . _ : -`. Replies and ' +
      'logs carry it. An id of another form is replaced by a new one.',
    text,
  ),
  idempotencyKey: parameter(
    'header',
    'Idempotency-Key',
    'Makes a retry safe. For 24 hours, the same key with the same body returns the first 200 reply ' +
      'again, without counting it again, and with `Idempotent-Replayed: true`. The same key with another ' +
      'body is refused. Only calls that end in 200 are stored. A reply above 15.9 MiB cannot be stored and ' +
      'is refused; only a batch with `explain` or `input_report` can have one. Use a new random value per call, such as a UUID.',
    { type: 'string', maxLength: 255 },
  ),
  modelId: parameter('path', 'model_id', 'The model.', modelId, exampleModelId),
  crmId: parameter(
    'path',
    'crm_id',
    'Your id of the record, percent-encoded.',
    { type: 'string', minLength: 1, maxLength: 255 },
    'LEAD-00042',
  ),
  onlyModelId: parameter(
    'query',
    'model_id',
    'Returns only the scores of this model. Absent or empty: the scores of all models.',
    text,
  ),
  days: parameter('query', 'days', 'The number of days (UTC), today included.', coverageDaysSchema),
  month: parameter('query', 'month', 'The month (UTC). Absent: the current one.', monthSchema),
  version: parameter('query', 'version', 'The version. Absent or empty: the current one.', text),
  limit: parameter('query', 'limit', 'The maximum number of scores on a page.', historyLimitSchema),
  cursor: parameter('query', 'cursor', 'The `next_cursor` of the previous page.', { type: 'string', minLength: 1 }),
  jobId: parameter('path', 'job_id', 'The job.', { type: 'string', minLength: 1 }, 'job_4kTq9Z01kb3f7q0h8m2v5t6w9x'),
  jobLimit: parameter('query', 'limit', 'The maximum number of jobs on a page.', jobLimitSchema),
  jobInputName: parameter('query', 'input_name', 'Lists only jobs whose file has this name.', inputNameSchema),
  jobInputSha256: parameter('query', 'input_sha256', 'Lists only jobs of this file.', inputSha256Schema),
  compression: parameter(
    'query',
    'compression',
    'With `gzip` the file is sent in gzip members, as it is stored. Ranges count its compressed bytes.',
    { type: 'string', enum: ['gzip'] },
  ),
  range: parameter('header', 'Range', 'One range of bytes, such as `bytes=0-`. A list of ranges is ignored.', text),
  ifRange: parameter(
    'header',
    'If-Range',
    'Reads the range only if the file still has this ETag, else the whole file.',
    text,
  ),
  tusResumable: parameter('header', 'Tus-Resumable', 'The version of tus: `1.0.0`.', text),
  uploadOffset: {
    ...parameter('header', 'Upload-Offset', 'Bytes that are stored: the value that HEAD returned.', byteCount, 0),
    required: true,
  },
  uploadLength: parameter('header', 'Upload-Length', 'Bytes of the whole file. It must not change.', byteCount),
  webhookModelId: parameter('query', 'model_id', 'The model. A `model_id` in the body takes precedence.', text),
  webhookExplain: parameter(
    'query',
    'explain',
    'Whether to add `drivers` and top reasons to the reply. `1` and `0` are read too. An `explain` in the body takes ' +
      'precedence.',
    { type: 'boolean' },
  ),
  webhookInputReport: parameter(
    'query',
    'input_report',
    'Reports how the fields were read, in `input_summary` and, with `records`, in `input`. An `input_report` in the body ' +
      'takes precedence.',
    { type: 'string', enum: inputReportSchema.enum },
  ),
  ...outcomeParameters,
} as const satisfies Record<string, Parameter>;

/** Ways to authenticate. */
export const securitySchemes = {
  bearerKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'The API key: `Authorization: Bearer <API_KEY>`. Works on every endpoint.',
  },
  headerKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: 'The API key in its own header; webhooks only.',
  },
  basicKey: {
    type: 'http',
    scheme: 'basic',
    description:
      'The API key as the user name, without a password; webhooks only, for tools that support nothing else.',
  },
} as const;

/** For every endpoint but webhooks. */
export const bearerOnly = [{ bearerKey: [] }] as const;

/** For webhooks. Bearer wins when a call sends several. */
export const webhookSecurity = [{ bearerKey: [] }, { headerKey: [] }, { basicKey: [] }] as const;
