import { type ErrorName, errorTable } from '../../shared/errors.js';
import { deployBlockedSchema, errorSchema } from '../schemas/error.js';
import { exampleEnvelope } from './error-examples.js';
import { headers, optional, rateHeaders } from './headers.js';
import type { Examples, Header, Response } from './openapi-types.js';

export interface ErrorResponseOptions {
  /** Address of the documentation, without a trailing slash. */
  readonly docsUrl: string;
  /** Headers that every reply of the endpoint has. */
  readonly headers?: Readonly<Record<string, Header>>;
  /** Whether the errors come up before the key is looked at: the rate is then not known. */
  readonly isBeforeKey?: boolean;
}

/** The responses with these errors, by status: each names its codes, with an example of each. */
export function errorResponses(
  names: readonly ErrorName[],
  options: ErrorResponseOptions,
): Record<string, Response> {
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
    description: names
      .map((name) => `\`${errorTable[name].code}\`: ${errorTable[name].meaning}`)
      .join('\n\n'),
    headers: { 'X-Request-Id': headers.requestId, ...headersOf(status, names, options) },
    content: {
      'application/json': { schema: status === 409 ? deployBlockedSchema : errorSchema, examples },
    },
  };
}

/** What a status carries beside X-Request-Id. */
function headersOf(
  status: number,
  names: readonly ErrorName[],
  options: ErrorResponseOptions,
): Record<string, Header> {
  const { headers: others = {}, isBeforeKey = false } = options;
  if (status === 405) return { Allow: headers.allow };
  if (isBeforeKey) return { ...others };
  if (status === 401) return { 'WWW-Authenticate': headers.wwwAuthenticate, ...others };
  // 400 may come from the HTTP parser, before the call was looked at.
  if (status === 400) return optional({ ...rateHeaders, ...others });
  if (status === 500)
    return { ...optional({ ...rateHeaders, 'Retry-After': headers.retryAfter }), ...others };
  // An address that tried too many unknown keys has no key whose rate could be told.
  if (status === 429) {
    const retryAfter = { 'Retry-After': headers.retryAfter };
    // A plan without API scoring is not cleared by waiting.
    const mayWait = names.includes('quotaExceeded') ? optional(retryAfter) : retryAfter;
    return { ...optional(rateHeaders), ...mayWait, ...others };
  }
  return { ...rateHeaders, ...others };
}
