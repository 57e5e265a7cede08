import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import {
  type MediaType,
  methods,
  type OpenApiDocument,
  type Operation,
  type Response,
} from '../../../api/openapi/openapi-types.js';
import type { Schema } from '../../../shared/contract/schema.js';
import { type HttpReply, httpCall } from './http-call.js';
import { resolve } from './openapi-references.js';

/** Headers of HTTP itself and of connections, which an OpenAPI document does not list. */
const headersOfHttp = new Set([
  ...['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding'],
]);

/** Checks replies against the OpenAPI document of the service. */
export class OpenApiContract {
  readonly operations: ReadonlyMap<string, Operation>;
  private readonly checks = new Map<Schema, ValidateFunction>();

  constructor(readonly document: OpenApiDocument) {
    const operations = Object.values(document.paths).flatMap((item) => methods.flatMap((method) => item[method] ?? []));
    this.operations = new Map(operations.map((operation) => [operation.operationId, operation]));
  }

  /** The contract that a running service serves. */
  static async of(url: string): Promise<OpenApiContract> {
    const reply = await httpCall(`${url}/openapi.json`, { method: 'GET' });
    expect(reply.status).to.equal(200);
    return new OpenApiContract(JSON.parse(reply.text) as OpenApiDocument);
  }

  /**
   * Asserts that the document describes a reply of the operation: its status, content type, headers, error code and
   * body. Undocumented headers and members fail.
   */
  expectToMatch(operationId: string, reply: HttpReply): void {
    const documented = this.operation(operationId).responses[String(reply.status)];
    expect(documented, `${operationId} may answer ${reply.status}: ${reply.text.slice(0, 300)}`).to.be.an('object');
    if (documented === undefined) return;
    this.checkHeaders(documented, reply);
    const type = reply.headers.get('content-type')?.split(';')[0];
    const media = documented.content?.[type ?? ''];
    expect(media === undefined, `${operationId} ${reply.status} has a documented body of ${type}`).to.equal(
      documented.content === undefined,
    );
    if (media === undefined) expect(reply.text).to.equal('');
    else this.checkBody(media, type === 'application/json' ? JSON.parse(reply.text) : reply.text);
  }

  /**
   * The problems of a value under a schema of the document; undefined when it is valid. Unknown members are invalid.
   */
  problemsOf(schema: Schema, value: unknown): string | undefined {
    let check = this.checks.get(schema);
    if (check === undefined) {
      const { schemas } = this.document.components;
      check = ajv.compile({ ...closed(schema), components: { schemas: closed(schemas) } });
      this.checks.set(schema, check);
    }
    return check(value) ? undefined : ajv.errorsText(check.errors);
  }

  private operation(operationId: string): Operation {
    const operation = this.operations.get(operationId);
    if (operation === undefined) throw new Error(`the document has no operation ${operationId}`);
    return operation;
  }

  private checkHeaders(documented: Response, { headers, status }: HttpReply): void {
    const names = new Map(Object.entries(documented.headers).map(([name, header]) => [name.toLowerCase(), header]));
    for (const name of headers.keys()) {
      expect(names.has(name) || headersOfHttp.has(name), `${status} documents the header ${name}`).to.equal(true);
    }
    for (const [name, reference] of names) {
      const header = resolve(this.document, reference);
      const value = headers.get(name);
      if (value === null) expect(header.required ?? false, `${status} must carry ${name}`).to.equal(false);
      else expect(this.problemsOf(header.schema, typed(value, header.schema)), name).to.equal(undefined);
    }
  }

  private checkBody({ schema, examples = {} }: MediaType, body: unknown): void {
    expect(this.problemsOf(schema, body), JSON.stringify(body).slice(0, 500)).to.equal(undefined);
    const code = typeof body === 'string' ? undefined : codeOf(body);
    if (code !== undefined) expect(examples, 'the codes of this status').to.have.property(code);
  }
}

const isDate = (text: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text);
const ajv = new Ajv2020({
  strict: false,
  allErrors: true,
  ownProperties: true,
  formats: { 'date-time': isDate, binary: true, uri: (text: string) => URL.canParse(text), 'well-formed-text': true },
});

/** A header's value converted to the type of its schema. */
const typed = (value: string, { type }: Schema): unknown => (type === 'integer' ? Number(value) : value);

function codeOf(body: unknown): string | undefined {
  const error = (body as { readonly error?: { readonly code?: string } }).error;
  return error?.code;
}

/** Closes a schema and all nested schemas against unknown members. */
function closed<Part>(part: Part): Part {
  if (Array.isArray(part)) return part.map(closed) as Part;
  if (typeof part !== 'object' || part === null) return part;
  const copy = Object.fromEntries(Object.entries(part).map(([key, member]) => [key, closed(member)]));
  const isOpen = typeof copy.properties === 'object' && !('additionalProperties' in copy);
  return (isOpen ? { ...copy, additionalProperties: false } : copy) as Part;
}
