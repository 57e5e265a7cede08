import { ApiError, type ErrorName, errorTable } from '../../shared/contract/errors.js';
import type { Verdict } from '../../shared/contract/verdict.js';
import { errorEnvelope } from '../http/middleware/error-reply.js';
import { deployBlockedSchema, errorSchema } from '../schemas/error.js';
import { headers, optional, rateHeaders } from './components.js';
import { exampleModelId } from './examples.js';

import type { Examples, Header, Response } from './openapi-types.js';

export interface ErrorResponseOptions {
  /** Address of the documentation, without a trailing slash. */
  readonly docsUrl: string;
  /** Headers on every reply of the endpoint. */
  readonly headers?: Readonly<Record<string, Header>>;
  /** Whether the errors occur before authentication: such replies have no rate headers. */
  readonly isBeforeKey?: boolean;
}

/** The responses with these errors, by status. Each lists its codes, with an example of each. */
export function errorResponses(names: readonly ErrorName[], options: ErrorResponseOptions): Record<string, Response> {
  const statuses = [...new Set(names.map((name) => errorTable[name].status))].sort((a, b) => a - b);
  return Object.fromEntries(
    statuses.map((status) => {
      const withStatus = names.filter((name) => errorTable[name].status === status);
      return [String(status), errorResponse(status, withStatus, options)];
    }),
  );
}

function errorResponse(status: number, names: readonly ErrorName[], options: ErrorResponseOptions): Response {
  const examples: Examples = Object.fromEntries(
    names.map((name) => {
      const { code, meaning } = errorTable[name];
      return [code, { summary: meaning, value: exampleEnvelope(name, options.docsUrl) }];
    }),
  );
  return {
    description: names.map((name) => `\`${errorTable[name].code}\`: ${errorTable[name].meaning}`).join('\n\n'),
    headers: { 'X-Request-Id': headers.requestId, ...headersOf(status, names, options) },
    content: {
      'application/json': { schema: status === 409 ? deployBlockedSchema : errorSchema, examples },
    },
  };
}

/** The headers of a status, besides X-Request-Id. */
function headersOf(status: number, names: readonly ErrorName[], options: ErrorResponseOptions): Record<string, Header> {
  const { headers: others = {}, isBeforeKey = false } = options;
  if (status === 405) return { Allow: headers.allow };
  if (isBeforeKey) return { ...others };
  if (status === 401) return { 'WWW-Authenticate': headers.wwwAuthenticate, ...others };
  // The HTTP parser can answer 400 before authentication.
  if (status === 400) return optional({ ...rateHeaders, ...others });
  if (status === 500) return { ...optional({ ...rateHeaders, 'Retry-After': headers.retryAfter }), ...others };
  // An address that tried too many unknown keys gets 429 without a key, so without rate headers.
  if (status === 429) {
    const retryAfter = { 'Retry-After': headers.retryAfter };
    // On a plan without API scoring, waiting does not clear `quota_exceeded`.
    const mayWait = names.includes('quotaExceeded') ? optional(retryAfter) : retryAfter;
    return { ...optional(rateHeaders), ...mayWait, ...others };
  }
  return { ...rateHeaders, ...others };
}

/** The names in the error table, in its order. */
export const errorNames = Object.keys(errorTable) as ErrorName[];

/**
 * An example of the body of a reply with this error.
 * @param docsUrl address of the documentation, without a trailing slash
 */
export function exampleEnvelope(name: ErrorName, docsUrl: string): Record<string, unknown> {
  const options = name === 'deployBlocked' ? { beside: { validation: blockingVerdict } } : {};
  return errorEnvelope(new ApiError(name, messages[name], options), docsUrl);
}

/** An example message per error. Real messages name the actual values. */
const messages: Readonly<Record<ErrorName, string>> = {
  invalidApiKey: 'There is no API key: send "Authorization: Bearer <API_KEY>".',
  rateLimited: 'More than 10 calls within a second: slow down and retry.',
  unreadableRequest: 'records[17].crm_id must be of type string.',
  refusedRequest: 'records[17].annual_revenue: expected a number, came an object. Nothing of the call was counted.',
  recordLimitExceeded: 'The call has 1001 records; at most 1000 are scored in one call.',
  expiredReadOnly:
    'The trial has ended and there is no subscription: scoring resumes on a paid plan. Reading still works.',
  quotaExceeded:
    '250 more records would pass the backstop of 20000 for this month: 19900 are used. The call was ' +
    'refused whole and not counted. Usage resets at the start of next month (UTC).',
  modelNotFound: 'There is no model with this model_id in the workspace of the key.',
  apiDisabled:
    'Live API is off for "Inbound leads": turn it on in the score\'s row under Activate, or with ' +
    `"leadscore model set ${exampleModelId} --live-api on". Retrying does not clear it.`,
  deployBlocked:
    "The deploy policy is block and the model's validation state is too_early_to_grade at the gate " +
    'matured_cohort. It clears as predictions mature and the model passes its gates, or an administrator ' +
    `lifts the refusal with "leadscore model set ${exampleModelId} --override on --reason ...".`,
  notFound: 'Nothing has been scored under this crm_id.',
  methodNotAllowed: '/v1/score takes POST, not GET.',
  gone: 'This alias has been switched off: send the call to /v1/score.',
  internalError: 'An unexpected error on the server. The call was not counted.',
};

const blockingVerdict: Verdict = {
  state: 'too_early_to_grade',
  failing_gate: 'matured_cohort',
  summary: 'Too early to grade at matured_cohort: 140 of 200 required predictions have completed the 90-day window.',
};
