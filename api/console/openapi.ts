import type { ActionRoute } from '../../shared/admin/actions.js';
import { adminErrors } from '../../shared/admin/admin-error.js';
import { nothing } from '../../shared/admin/schemas/members.js';
import {
  importOutcomesInput,
  importOutcomesOutput,
  previewOutcomesInput,
  previewOutcomesOutput,
} from '../../shared/admin/schemas/outcomes.js';
import { linkPreviewOutput, sessionOutput, signInInput, waysOutput } from '../../shared/admin/schemas/people.js';
import { uploadSchema } from '../../shared/admin/schemas/uploads.js';
import { closedObject, type Schema, text } from '../../shared/contract/schema.js';
import type { BareOperation, BareParameter, PathItem } from '../openapi/openapi-types.js';
import { writeDocument } from '../openapi/write-document.js';

const errorSchema = closedObject({
  error: closedObject({
    code: text,
    message: text,
    'member?': text,
    'model_id?': text,
    'version?': text,
    request_id: text,
  }),
});
const errorResponse = {
  description: 'A refusal or an error.',
  content: { 'application/json': { schema: errorSchema } },
};

const json = (schema: Schema) => ({ 'application/json': { schema } });
const done = (schema: Schema) => ({ description: 'Done.', content: json(schema) });
const open = { security: [] } as const;
const refusals = (...statuses: readonly number[]) =>
  Object.fromEntries(statuses.map((status) => [status, errorResponse]));
const redirection = { description: 'Sends the browser on: to the provider, to the overview, or to the sign-in page.' };

/** An operation on a CSV in the body, with the options in the query. */
const ofCsv = (
  name: string,
  summary: string,
  input: typeof previewOutcomesInput | typeof importOutcomesInput,
  output: Schema,
): BareOperation => ({
  ...{ operationId: name, summary, description: 'Needs the role admin.' },
  parameters: Object.entries(input.properties).map(([member, schema]) => ({
    ...{ name: member, in: member === 'org_id' ? 'path' : 'query', required: member === 'org_id', schema },
  })),
  requestBody: { content: { 'text/csv': { schema: text } } },
  responses: { 200: done(output), ...refusals(401, 403, 404, 422, 429, 503) },
});

/** The operations that are no actions: they have no person yet, or a body or a reply that is not JSON. */
const ownOperations: readonly (readonly [path: string, method: keyof PathItem, operation: BareOperation])[] = [
  [
    '/session/ways',
    'get',
    {
      ...{ operationId: 'session.ways', summary: 'Tell whether people can sign in by OIDC.', ...open },
      responses: { 200: done(waysOutput) },
    },
  ],
  [
    '/session/preview',
    'post',
    {
      ...{ operationId: 'session.preview', summary: 'Tell whose one-time link it is, without using it.', ...open },
      requestBody: { content: json(signInInput) },
      responses: { 200: done(linkPreviewOutput), ...refusals(401, 422, 429) },
    },
  ],
  [
    '/session',
    'post',
    {
      ...{ operationId: 'session.begin', summary: 'Sign in by a one-time link. Sets the cookie.', ...open },
      requestBody: { content: json(signInInput) },
      responses: { 200: done(sessionOutput), ...refusals(401, 403, 422, 429) },
    },
  ],
  [
    '/session',
    'get',
    {
      ...{ operationId: 'session.show', summary: 'Tell who is signed in.' },
      responses: { 200: done(sessionOutput), ...refusals(401, 429) },
    },
  ],
  [
    '/session',
    'delete',
    {
      ...{ operationId: 'session.end', summary: 'Sign out.' },
      responses: { 200: done(nothing), ...refusals(401, 403, 429) },
    },
  ],
  [
    '/session/oidc',
    'get',
    {
      ...{ operationId: 'session.oidc', summary: 'Begin a sign-in by OIDC, for browsers.', ...open },
      parameters: ['org', 'page'].map((name) => ({ name, in: 'query', required: false, schema: text })),
      responses: { 302: redirection },
    },
  ],
  [
    '/session/oidc/callback',
    'get',
    {
      ...{ operationId: 'session.oidc_callback', summary: 'End a sign-in by OIDC, for browsers.', ...open },
      parameters: ['code', 'state'].map((name) => ({ name, in: 'query', required: false, schema: text })),
      responses: { 302: redirection },
    },
  ],
  [
    '/orgs/{org_id}/uploads',
    'post',
    {
      operationId: 'upload.create',
      summary: 'Upload a bundle as a gzipped tar archive of at most 64 MiB. A worker then checks it.',
      description: 'Needs the role admin.',
      parameters: [{ name: 'org_id', in: 'path', required: true, schema: text }],
      requestBody: { content: { 'application/gzip': { schema: { type: 'string', format: 'binary' } } } },
      responses: {
        202: { description: 'Received.', content: json(uploadSchema) },
        ...refusals(401, 403, 404, 413, 422, 429),
      },
    },
  ],
  ...jobTransfers(),
  [
    '/orgs/{org_id}/outcomes',
    'post',
    ofCsv(
      'outcomes.import',
      'Import a CSV of outcomes of at most 50,000 rows, or a part of it, as POST /v1/outcomes does.',
      importOutcomesInput,
      importOutcomesOutput,
    ),
  ],
  [
    '/orgs/{org_id}/outcomes/preview',
    'post',
    ofCsv(
      'outcomes.preview',
      'Read a CSV of outcomes, or a part of it: its columns, its first rows and the values of a column.',
      previewOutcomesInput,
      previewOutcomesOutput,
    ),
  ],
];

/** The transfers of bulk jobs. They take the headers of the input, the results and the errors of a job of the API. */
function jobTransfers(): (readonly [path: string, method: keyof PathItem, operation: BareOperation])[] {
  const job = '/orgs/{org_id}/jobs/{job_id}';
  const parameters = ['org_id', 'job_id'].map((name) => ({ name, in: 'path', required: true, schema: text }) as const);
  const common = { description: 'Needs the role admin.', parameters };
  const bytes = { 'application/offset+octet-stream': { schema: { type: 'string', format: 'binary' } } };
  const stored = { description: 'The bytes are stored. Upload-Offset has the number of all stored ones.' };
  const failed = refusals(400, 401, 403, 404, 409, 422, 429, 503);
  const append = (operationId: string, summary: string): BareOperation => ({
    ...{ operationId, summary, ...common, requestBody: { content: bytes }, responses: { 204: stored, ...failed } },
  });
  const file = (operationId: string, summary: string): BareOperation => ({
    ...{ operationId, summary, ...common },
    responses: { 200: { description: 'The file so far.', content: { 'text/csv': { schema: text } } }, ...failed },
  });
  return [
    [
      `${job}/input`,
      'head',
      {
        ...{ operationId: 'job.upload_offset', summary: 'Tell how many bytes of the file are stored (tus 1.0).' },
        ...common,
        responses: { 200: { description: 'Upload-Offset has their number.' }, ...failed },
      },
    ],
    [`${job}/input`, 'patch', append('job.upload', 'Send bytes from the end of what is stored (tus 1.0).')],
    [`${job}/input`, 'post', append('job.upload_by_post', 'The same, with X-HTTP-Method-Override: PATCH.')],
    [`${job}/results`, 'get', file('job.results', 'Download the results so far.')],
    [`${job}/errors`, 'get', file('job.errors', 'Download the rows that failed so far.')],
  ];
}

/** The OpenAPI 3.1 document of the console's API, made from the table of its actions. */
export function consoleDocument(routes: readonly ActionRoute[], serverUrl: string) {
  const paths: Record<string, PathItem<BareOperation>> = {};
  for (const [path, method, operation] of ownOperations) paths[path] = { ...paths[path], [method]: operation };
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method]: operationOf(route) };
  }
  return writeDocument({
    info: {
      title: 'Leadscore console API',
      version: '1.0.0',
      description:
        'For the console, and for programs of the operator with a token of `leadscore console token create`.',
    },
    servers: [{ url: `${serverUrl}/admin/v1` }],
    security: [{ token: [] }, { session: [] }],
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        session: { type: 'apiKey', in: 'cookie', name: '__Host-leadscore_console' },
      },
    },
  });
}

/** Actions whose reply is CSV with `format=csv`. */
const hasCsv: ReadonlySet<string> = new Set(['usage.show', 'audit.list']);

function operationOf({ method, path, action }: ActionRoute): BareOperation {
  const { name, description, role, input, output } = action;
  const properties = Object.entries((input.properties ?? {}) as Readonly<Record<string, Schema>>);
  const required = (input.required ?? []) as readonly string[];
  const isInPath = (member: string): boolean => path.split('/').includes(`:${member}`);
  const given = properties.filter(([member]) => !isInPath(member));
  const hasBody = method === 'post' || method === 'patch';
  const parameters = properties
    .filter(([member]) => isInPath(member) || !hasBody)
    .map(
      ([member, schema]): BareParameter => ({
        name: member,
        in: isInPath(member) ? 'path' : 'query',
        required: isInPath(member) || required.includes(member),
        schema,
      }),
    );
  if (hasCsv.has(name))
    parameters.push({ name: 'format', in: 'query', required: false, schema: { type: 'string', enum: ['csv'] } });
  const body = {
    type: 'object',
    properties: Object.fromEntries(given),
    required: required.filter((member) => !isInPath(member)),
    additionalProperties: false,
  };
  return {
    operationId: name,
    summary: description,
    description: `Needs the role ${role}.`,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(hasBody ? { requestBody: { content: { 'application/json': { schema: body } } } } : {}),
    responses: {
      200: {
        description: 'Done.',
        content: {
          'application/json': { schema: output },
          ...(hasCsv.has(name) ? { 'text/csv': { schema: text } } : {}),
        },
      },
      ...refusals(...Object.values(adminErrors)),
    },
  };
}
