import { expect } from 'chai';
import { openApiDocument } from '../../api/openapi/document.js';
import {
  type Examples,
  type MediaType,
  methods,
  type Operation,
  type Parameter,
} from '../../api/openapi/openapi-types.js';
import { scoreRequestSchema } from '../../api/schemas/scoring/score-request.js';
import { errorTable } from '../../shared/contract/errors.js';
import type { Schema } from '../../shared/contract/schema.js';
import { OpenApiContract } from '../support/http/openapi-contract.js';
import { pointerOf, resolve } from '../support/http/openapi-references.js';

const docsUrl = 'https://api.example.com/docs';
const document = openApiDocument({ keyBrand: 'acme', serverUrl: 'https://api.example.com', docsUrl });
const contract = new OpenApiContract(document);
const operations = [...contract.operations.values()];

describe('OpenAPI document', () => {
  it('lists every endpoint of the contract', () => {
    const endpoints = Object.entries(document.paths).flatMap(([path, item]) =>
      methods.filter((method) => item[method] !== undefined).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(endpoints).to.have.members([
      'POST /v1/score',
      'POST /v1/webhooks/score',
      'GET /v1/jobs',
      'POST /v1/jobs',
      'GET /v1/jobs/{job_id}',
      'DELETE /v1/jobs/{job_id}',
      'POST /v1/jobs/{job_id}/pause',
      'POST /v1/jobs/{job_id}/resume',
      'POST /v1/jobs/{job_id}/cancel',
      'PUT /v1/jobs/{job_id}/input',
      'PATCH /v1/jobs/{job_id}/input',
      'HEAD /v1/jobs/{job_id}/input',
      'OPTIONS /v1/jobs/{job_id}/input',
      'GET /v1/jobs/{job_id}/results',
      'GET /v1/jobs/{job_id}/errors',
      'GET /v1/models',
      'GET /v1/models/{model_id}',
      'GET /v1/models/{model_id}/coverage',
      'GET /v1/scores/{crm_id}',
      'DELETE /v1/scores/{crm_id}',
      'POST /v1/outcomes',
      'POST /v1/webhooks/outcome',
      'GET /v1/usage',
      'GET /v1/usage/daily',
      'POST /score',
      'POST /webhooks/score',
    ]);
  });

  it('has one server: the configured address, else the host that serves the document', () => {
    expect(document.servers.map(({ url }) => url)).to.deep.equal(['https://api.example.com']);
    const relative = openApiDocument({ keyBrand: 'acme', serverUrl: undefined, docsUrl });
    expect(relative.servers.map(({ url }) => url)).to.deep.equal(['/']);
  });

  it('writes keys with the brand of the service', () => {
    const { description } = document.info;
    expect(description).to.include('`acme_sk_`').and.include('`acme_sk_test_`').and.not.include('<brand>');
  });

  it('has no dangling reference', () => {
    const references = every(document, (part) => pointerOf(part) !== undefined);
    expect(references).to.have.length.above(100);
    for (const reference of references) expect(resolve(document, reference)).to.not.have.property('$ref');
  });

  it('contains the schema that POST /v1/score validates bodies with', () => {
    const media = contract.operations.get('scoreRecords')?.requestBody?.content['application/json'];
    expect(expanded(media?.schema)).to.deep.equal(plain(scoreRequestSchema));
  });

  it('has no default in a request body: generators of TypeScript make such members required', () => {
    const bodies = operations.map(({ requestBody }) => expanded(requestBody));
    expect(every(bodies, (part) => 'default' in part)).to.deep.equal([]);
  });

  it('has no example of an optional parameter: reference pages send it', () => {
    const withExample = operations.flatMap(({ parameters }) =>
      parameters
        .map((parameter) => resolve(document, parameter) as Parameter)
        .filter(({ required, example }) => !required && example !== undefined),
    );
    expect(withExample).to.deep.equal([]);
  });

  it('has a description of every schema, member, parameter and header', () => {
    const { schemas, parameters, headers } = document.components;
    for (const [name, part] of Object.entries({ ...schemas, ...parameters, ...headers }))
      expect(part.description, name).to.be.a('string').and.match(/\.$/);
    for (const part of every(schemas, (schema) => 'properties' in schema && 'type' in schema)) {
      for (const [name, member] of Object.entries((part as { properties: object }).properties)) {
        const isDescribed = 'description' in member || '$ref' in member || isGuard(name);
        expect(isDescribed, `${name} in ${JSON.stringify(part).slice(0, 200)}`).to.equal(true);
      }
    }
  });

  for (const operation of operations) {
    describe(`operation ${operation.operationId}`, () => {
      it('has a summary, a description and a declared tag', () => {
        expect(operation.summary).to.match(/^[A-Z].+[^.]$/);
        expect(operation.description).to.match(/\.$/);
        expect(document.tags.map(({ name }) => name)).to.include.members([...operation.tags]);
      });

      it('has samples in curl, Node and Python', () => {
        expect(operation['x-codeSamples']?.map(({ label }) => label)).to.deep.equal(['curl', 'Node', 'Python']);
      });

      it('has a valid example of every body and of every error code', () => {
        for (const { schema, examples } of Object.values(operation.requestBody?.content ?? {}))
          expectValid(schema, examples);
        for (const { content } of Object.values(operation.responses))
          for (const { schema, examples } of Object.values(content ?? {})) expectValid(schema, examples);
      });

      it('lists only errors of the error table, each under its status and in the envelope', () => {
        const entries: readonly { code: string; status: number }[] = Object.values(errorTable);
        for (const [status, { content }] of refusals(operation)) {
          for (const [code, { value }] of Object.entries(content?.['application/json']?.examples ?? {})) {
            expect(entries.some((entry) => entry.code === code && entry.status === Number(status))).to.equal(true);
            expect(value).to.have.nested.property('error.docs_url', `${docsUrl}/errors#${code}`);
          }
        }
      });
    });
  }

  it('lists every error of the error table', () => {
    const responses = [
      ...operations.flatMap((operation) => refusals(operation)),
      ...refusals({ responses: document.components.responses }),
    ];
    const codes = responses.flatMap(([, { content }]) => Object.keys(content?.['application/json']?.examples ?? {}));
    const entries: readonly { code: string }[] = Object.values(errorTable);
    expect([...new Set(codes)]).to.have.members([...new Set(entries.map(({ code }) => code))]);
  });
});

/** Members that only distinguish the formats of a webhook. */
const isGuard = (name: string): boolean => ['record', 'inputFields', 'properties', 'meta'].includes(name);

const refusals = ({ responses }: Pick<Operation, 'responses'>) =>
  Object.entries(responses).filter(([status]) => !status.startsWith('2'));

function expectValid(schema: MediaType['schema'], examples: Examples | undefined): void {
  expect(Object.keys(examples ?? {}), 'examples').to.not.have.length(0);
  for (const [name, { value }] of Object.entries(examples ?? {}))
    expect(contract.problemsOf(schema, value), name).to.equal(undefined);
}

/** Every object within a value that satisfies a condition. */
function every(value: unknown, test: (part: object) => boolean): object[] {
  if (typeof value !== 'object' || value === null) return [];
  return [...(test(value) ? [value] : []), ...Object.values(value).flatMap((member) => every(member, test))];
}

/** A schema with every reference replaced by its target. */
function expanded(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(expanded);
  if (typeof part !== 'object' || part === null) return part;
  return Object.fromEntries(Object.entries(resolve(document, part)).map(([key, member]) => [key, expanded(member)]));
}

const plain = (schema: Schema): unknown => JSON.parse(JSON.stringify(schema));
