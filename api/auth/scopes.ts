import { ApiError } from '../../shared/contract/errors.js';
import { allows, type NeededScope } from '../../shared/contract/roles.js';
import type { ApiKey } from '../../shared/store/accounts/api-keys.js';

/** The scope of each endpoint that takes a key. One that is missing here answers every call with 500. */
export const scopeOfRoute: Readonly<Record<string, NeededScope>> = {
  'POST /v1/score': 'score',
  'POST /v1/webhooks/score': 'score',
  'POST /score': 'score',
  'POST /webhooks/score': 'score',
  'GET /v1/usage': 'any',
  'GET /v1/usage/daily': 'any',
  'GET /v1/models': 'any',
  'GET /v1/models/:model_id': 'any',
  'GET /v1/models/:model_id/coverage': 'read',
  'GET /v1/scores/:crm_id': 'read',
  'DELETE /v1/scores/:crm_id': 'erase',
  'POST /v1/outcomes': 'outcomes',
  'POST /v1/webhooks/outcome': 'outcomes',
  'OPTIONS /v1/jobs/:job_id/input': 'any',
  'POST /v1/jobs': 'jobs',
  'GET /v1/jobs': 'jobs',
  'GET /v1/jobs/:job_id': 'jobs',
  'DELETE /v1/jobs/:job_id': 'jobs',
  'POST /v1/jobs/:job_id/pause': 'jobs',
  'POST /v1/jobs/:job_id/resume': 'jobs',
  'POST /v1/jobs/:job_id/cancel': 'jobs',
  'PUT /v1/jobs/:job_id/input': 'jobs',
  'HEAD /v1/jobs/:job_id/input': 'jobs',
  'PATCH /v1/jobs/:job_id/input': 'jobs',
  'POST /v1/jobs/:job_id/input': 'jobs',
  'GET /v1/jobs/:job_id/results': 'jobs',
  'GET /v1/jobs/:job_id/errors': 'jobs',
};

/**
 * Checks that a key may use the endpoint of a call.
 * @throws ApiError insufficientScope; Error for an endpoint without a scope
 */
export function requireScope(
  context: { readonly method: string; readonly _matchedRoute?: unknown },
  apiKey: ApiKey,
): void {
  const route = `${context.method} ${String(context._matchedRoute)}`;
  // The router answers HEAD wherever it answers GET.
  const needed = scopeOfRoute[route] ?? scopeOfRoute[route.replace(/^HEAD /, 'GET ')];
  if (needed === undefined) throw new Error(`no scope is set for ${route}`);
  if (!allows(apiKey, needed)) throw lacks(apiKey, needed, `This key may not use ${route}`);
}

/**
 * Checks that a key may read stored leads, for an endpoint that other keys may use otherwise.
 * @param subject needs the scope: `A job of stored leads`
 * @throws ApiError insufficientScope
 */
export function requireRead(apiKey: ApiKey, subject: string): void {
  if (!allows(apiKey, 'read')) throw lacks(apiKey, 'read', `${subject} needs a key that may read scores`);
}

const lacks = (apiKey: ApiKey, needed: NeededScope, problem: string): ApiError =>
  new ApiError(
    'insufficientScope',
    `${problem}: it lacks the scope ${needed}. It has ${apiKey.scopes?.join(', ') || 'none'}. ` +
      'Use another key, or ask an administrator for one with this scope.',
  );
