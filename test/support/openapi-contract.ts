import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import {
  type MediaType,
  methods,
  type OpenApiDocument,
  type Operation,
  type Response,
  type Schema,
} from '../../api/openapi/openapi-types.js';
import { resolve } from '../../api/openapi/resolve.js';
import { type HttpReply, httpCall } from './http-call.js';

/** Headers of HTTP itself and of its connections, which an OpenAPI document does not list. */
const headersOfHttp = new Set([
  ...['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding'],
]);

/** What the service promises in its OpenAPI document, to hold its replies against. */
export class OpenApiContract {
  readonly operations: ReadonlyMap<string, Operation>;
  private readonly checks = new Map<Schema, ValidateFunction>();

  constructor(readonly document: OpenApiDocument) {
    const operations = Object.values(document.paths).flatMap((item) =>
      methods.flatMap((method) => item[method] ?? []),
    );
    this.operations = new Map(operations.map((operation) => [operation.operationId, operation]));
  }

  /** The contract that a running service publishes. */
  static async of(url: string): Promise<OpenApiContract> {
    const reply = await httpCall(`${url}/openapi.json`, { method: 'GET' });
    expect(reply.status).to.equal(200);
    return new OpenApiContract(JSON.parse(reply.text) as OpenApiDocument);
  }

  /**
   * Asserts that a reply is one that the document promises for the operation: its status, content type, headers, error
   * code and body, none of them with anything that the document does not name.
   */
  expectToMatch(operationId: string, reply: HttpReply): void {
    const promised = this.operation(operationId).responses[String(reply.status)];
    expect(promised, `${operationId} may answer ${reply.status}: ${reply.text.slice(0, 300)}`).to.be.an(
      'object',
    );
    if (promised === undefined) return;
    this.checkHeaders(promised, reply);
    const type = reply.headers.get('content-type')?.split(';')[0];
    const media = promised.content?.[type ?? ''];
    expect(media === undefined, `${operationId} ${reply.status} promises a body of ${type}`).to.equal(
      promised.content === undefined,
    );
    if (media === undefined) expect(reply.text).to.equal('');
    else this.checkBody(media, JSON.parse(reply.text));
  }

  /** Why a value is not what a schema of the document takes; undefined when it is. Unknown members are not taken. */
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

  private checkHeaders(promised: Response, { headers, status }: HttpReply): void {
    const names = new Map(
      Object.entries(promised.headers).map(([name, header]) => [name.toLowerCase(), header]),
    );
    for (const name of headers.keys()) {
      expect(names.has(name) || headersOfHttp.has(name), `${status} promises the header ${name}`).to.equal(
        true,
      );
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
    const code = codeOf(body);
    if (code !== undefined) expect(examples, 'the codes of this status').to.have.property(code);
  }
}

const isDate = (text: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text);
const ajv = new Ajv2020({
  strict: false,
  allErrors: true,
  ownProperties: true,
  formats: { 'date-time': isDate, uri: (text: string) => URL.canParse(text), 'well-formed-text': true },
});

/** A header's value as what its schema says that the text stands for. */
const typed = (value: string, { type }: Schema): unknown => (type === 'integer' ? Number(value) : value);

function codeOf(body: unknown): string | undefined {
  const error = (body as { readonly error?: { readonly code?: string } }).error;
  return error?.code;
}

/** A schema, and all in it, that takes no members but those that it names. */
function closed<Part>(part: Part): Part {
  if (Array.isArray(part)) return part.map(closed) as Part;
  if (typeof part !== 'object' || part === null) return part;
  const copy = Object.fromEntries(Object.entries(part).map(([key, member]) => [key, closed(member)]));
  const isOpen = typeof copy.properties === 'object' && !('additionalProperties' in copy);
  return (isOpen ? { ...copy, additionalProperties: false } : copy) as Part;
}
