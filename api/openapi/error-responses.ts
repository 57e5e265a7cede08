import { ApiError, type ErrorName, errorTable } from '../../shared/contract/errors.js';
import type { Verdict } from '../../shared/contract/verdict.js';
import { deployBlockedSchema, errorEnvelope, errorSchema } from '../schemas/error.js';
import { headers, optional, rateHeaders } from './components.js';
import { readExamplesFile } from './examples.js';
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
      'application/json': { schema: names.includes('deployBlocked') ? deployBlockedSchema : errorSchema, examples },
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
  const { messages, blockingVerdict } = readExamplesFile<ErrorExamples>('errors');
  const options = name === 'deployBlocked' ? { beside: { validation: blockingVerdict } } : {};
  return errorEnvelope(new ApiError(name, messages[name], options), docsUrl);
}

interface ErrorExamples {
  /** One per error. Real messages name the actual values. */
  readonly messages: Readonly<Record<ErrorName, string>>;
  readonly blockingVerdict: Verdict;
}
