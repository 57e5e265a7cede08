import { readFileSync } from 'node:fs';
import type { Scope } from '../../shared/contract/roles.js';
import { projectFile } from '../../shared/process/project-root.js';
import { scopeOfRoute } from '../auth/scopes.js';
import { codeSamples } from './code-samples.js';
import { bearerOnly, componentSchemas, headers, parameters, securitySchemes } from './components.js';
import { errorResponses } from './error-responses.js';
import { methods, type OpenApiDocument, type Operation, type PathItem } from './openapi-types.js';
import { inputOperations, jobFileOperation } from './operations/job-file-operations.js';
import {
  createJobOperation,
  deleteJobOperation,
  getJobOperation,
  jobCommandOperation,
  listJobsOperation,
} from './operations/job-operations.js';
import {
  coverageOperation,
  dailyUsageOperation,
  eraseScoresOperation,
  getModelOperation,
  listModelsOperation,
  outcomesOperation,
  outcomeWebhookOperation,
  scoreHistoryOperation,
  usageOperation,
} from './operations/reading-operations.js';
import {
  scoreAliasOperation,
  scoreOperation,
  webhookAliasOperation,
  webhookOperation,
} from './operations/scoring-operations.js';
import { writeDocument } from './write-document.js';

/** The groups of endpoints. */
const tags: OpenApiDocument['tags'] = [
  { name: 'Scoring', description: 'Score records. Each scored record counts one towards the month.' },
  {
    name: 'Bulk jobs',
    description: 'Score a file of up to ten million rows. Each scored row counts one towards the month.',
  },
  {
    name: 'Models',
    description: 'The models of the workspace. Free of charge, also in a read-only workspace.',
  },
  {
    name: 'Score history',
    description: 'Read and erase past scores. Free of charge, also in a read-only workspace.',
  },
  {
    name: 'Outcomes',
    description:
      'Report which leads converted; models are graded by it. Free of charge, also in a read-only workspace.',
  },
  { name: 'Usage', description: 'Read the usage. Free of charge, also in a read-only workspace.' },
  { name: 'Deprecated aliases', description: 'Paths from before v1.' },
];

export interface DocumentOptions {
  /** Address of the service, without a trailing slash. Undefined: the host that serves the document. */
  readonly serverUrl: string | undefined;
  /** Address of the documentation, without a trailing slash. */
  readonly docsUrl: string;
  /** The first word of the service's keys. */
  readonly keyBrand: string;
}

/** The OpenAPI 3.1 document of the whole API. */
export function openApiDocument({ serverUrl, docsUrl, keyBrand }: DocumentOptions): OpenApiDocument {
  const { 404: notFound, 405: methodNotAllowed } = errorResponses(['methodNotAllowed', 'notFound'], {
    docsUrl,
  });
  return writeDocument({
    info: {
      title: 'Leadscore API',
      version: '1.0.0',
      summary: 'Fit score, conversion likelihood and reasons for CRM records.',
      description: readFileSync(projectFile('api/openapi/guide.md'), 'utf8').trim().replaceAll('<brand>', keyBrand),
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl ?? '/', description: 'This service.' }],
    security: bearerOnly,
    tags,
    paths: withSamples(withScopes(pathItems(docsUrl), docsUrl)),
    components: {
      schemas: componentSchemas,
      headers,
      parameters,
      // The replies to an unknown path and an unknown method.
      responses: {
        ...(methodNotAllowed && { MethodNotAllowed: methodNotAllowed }),
        ...(notFound && { NotFound: notFound }),
      },
      securitySchemes,
    },
  });
}

const pathItems = (docsUrl: string): Readonly<Record<string, PathItem>> => ({
  '/v1/score': { post: scoreOperation({ docsUrl }) },
  '/v1/webhooks/score': { post: webhookOperation({ docsUrl }) },
  '/v1/jobs': { post: createJobOperation(docsUrl), get: listJobsOperation(docsUrl) },
  '/v1/jobs/{job_id}': { get: getJobOperation(docsUrl), delete: deleteJobOperation(docsUrl) },
  '/v1/jobs/{job_id}/pause': { post: jobCommandOperation('pause', docsUrl) },
  '/v1/jobs/{job_id}/resume': { post: jobCommandOperation('resume', docsUrl) },
  '/v1/jobs/{job_id}/cancel': { post: jobCommandOperation('cancel', docsUrl) },
  '/v1/jobs/{job_id}/input': inputOperations(docsUrl),
  '/v1/jobs/{job_id}/results': { get: jobFileOperation('results', docsUrl) },
  '/v1/jobs/{job_id}/errors': { get: jobFileOperation('errors', docsUrl) },
  '/v1/models': { get: listModelsOperation(docsUrl) },
  '/v1/models/{model_id}': { get: getModelOperation(docsUrl) },
  '/v1/models/{model_id}/coverage': { get: coverageOperation(docsUrl) },
  '/v1/scores/{crm_id}': { get: scoreHistoryOperation(docsUrl), delete: eraseScoresOperation(docsUrl) },
  '/v1/outcomes': { post: outcomesOperation(docsUrl) },
  '/v1/webhooks/outcome': { post: outcomeWebhookOperation(docsUrl) },
  '/v1/usage': { get: usageOperation(docsUrl) },
  '/v1/usage/daily': { get: dailyUsageOperation(docsUrl) },
  '/score': { post: scoreAliasOperation(docsUrl) },
  '/webhooks/score': { post: webhookAliasOperation(docsUrl) },
});

/** Adds the scope that a key needs to each operation, and the error without it. */
const withScopes = (items: Readonly<Record<string, PathItem>>, docsUrl: string): Readonly<Record<string, PathItem>> =>
  Object.fromEntries(
    Object.entries(items).map(([path, item]) => {
      const route = path.replace(/\{(\w+)\}/g, ':$1');
      const operations = methods.flatMap((method) => {
        const operation = item[method];
        if (operation === undefined) return [];
        const scope = scopeOfRoute[`${method.toUpperCase()} ${route}`] ?? 'any';
        return [[method, scope === 'any' ? operation : scoped(operation, scope, { method, docsUrl })] as const];
      });
      return [path, Object.fromEntries(operations)];
    }),
  );

function scoped(
  operation: Operation,
  scope: Scope,
  { method, docsUrl }: { readonly method: string; readonly docsUrl: string },
): Operation {
  // The only other reason for this status is the switch of the model.
  const names = operation.responses[403] === undefined ? [] : (['apiDisabled'] as const);
  // Headers of all errors of the operation.
  const { 'WWW-Authenticate': _challenge, ...headers } = operation.responses[401]?.headers ?? {};
  const { 403: refused } = errorResponses([...names, 'insufficientScope'], { docsUrl, headers });
  if (refused === undefined) return operation;
  const { content: _, ...withoutBody } = refused;
  return {
    ...operation,
    description: `${operation.description}\n\nNeeds the scope \`${scope}\`, unless the key has no scopes.`,
    responses: { ...operation.responses, 403: method === 'head' ? withoutBody : refused },
  };
}

/** Adds a call in each language to each operation. */
const withSamples = (items: Readonly<Record<string, PathItem>>): Readonly<Record<string, PathItem>> =>
  Object.fromEntries(
    Object.entries(items).map(([path, item]) => {
      const operations = methods.flatMap((method) => {
        const operation = item[method];
        return operation === undefined
          ? []
          : [[method, { ...operation, 'x-codeSamples': codeSamples(method, path, operation) }] as const];
      });
      return [path, Object.fromEntries(operations)];
    }),
  );
