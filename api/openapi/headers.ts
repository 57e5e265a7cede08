import type { Header } from './openapi-types.js';

/** The headers of replies, by their names in `components`. */
export const headers = {
  requestId: {
    description: 'The id of the call in logs: your own `X-Request-Id` when it has an allowed form, else a new one.',
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9._:-]{1,128}$' },
    example: '80a30390-e343-4e9c-8f30-d4b4894c050d',
  },
  rateLimit: {
    description:
      'The remaining rate: `r` calls now, and the full rate after `t` seconds ' +
      '(draft-ietf-httpapi-ratelimit-headers).',
    required: true,
    schema: { type: 'string', pattern: '^"key";r=[0-9]+;t=[0-9]+$' },
    example: '"key";r=9;t=1',
  },
  rateLimitPolicy: {
    description: "The key's rate: `q` calls in any `w` seconds.",
    required: true,
    schema: { type: 'string', pattern: '^"key";q=[0-9]+;w=1$' },
    example: '"key";q=10;w=1',
  },
  retryAfter: {
    description:
      'Seconds until a retry can succeed. For `rate_limited`, until the next free slot. For ' +
      '`quota_exceeded`, until the end of the month (UTC), when the month clears it.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
    example: 1,
  },
  idempotentReplayed: {
    description: 'Present, and `true`, when the reply is a stored one, sent before under the same `Idempotency-Key`.',
    schema: { type: 'string', enum: ['true'] },
    example: 'true',
  },
  wwwAuthenticate: {
    description: 'How to authenticate.',
    required: true,
    schema: { type: 'string' },
    example: 'Bearer',
  },
  allow: {
    description: 'The methods that the path supports.',
    required: true,
    schema: { type: 'string' },
    example: 'HEAD, GET, DELETE',
  },
  deprecation: {
    description: 'The endpoint is deprecated.',
    required: true,
    schema: { type: 'string', enum: ['true'] },
    example: 'true',
  },
  sunset: {
    description: 'The date when the endpoint stops working (RFC 8594).',
    required: true,
    schema: { type: 'string' },
    example: 'Mon, 19 Oct 2026 00:00:00 GMT',
  },
  successor: {
    description: 'The endpoint to use instead.',
    required: true,
    schema: { type: 'string' },
    example: '</v1/score>; rel="successor-version"',
  },
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
