import type { MediaType, Method, OpenApiDocument, Operation } from '../openapi/openapi-types.js';
import { resolve } from '../openapi/resolve.js';
import { curlExample, exampleUrl } from './curl-example.js';
import { type Html, html } from './html.js';
import { jsonCode } from './json-code.js';
import { markdown } from './markdown.js';
import { membersOf, membersTable } from './members-table.js';
import { responseList } from './response-list.js';
import { schemaType } from './schema-type.js';

/** An operation and where it stands in the document; its parameters are resolved. */
export interface PlacedOperation {
  readonly path: string;
  readonly method: Method;
  readonly operation: Operation;
}

/** The section of one operation: what it does, what it takes, what it answers, and examples. */
export function operationSection(
  document: OpenApiDocument,
  { path, method, operation }: PlacedOperation,
  baseUrl: string,
): Html {
  return html`<section class="topic split" id="${operation.operationId}">
<div class="about">
<h3>${operation.summary}</h3>
<p class="endpoint">${methodBadge(method)} <code>${path}</code>${operation.deprecated ? html` <span class="badge">deprecated</span>` : undefined}</p>
${markdown(operation.description)}${parametersTable(operation)}${bodyTables(document, operation)}${responseList(document, operation)}</div>
<div class="examples">
${requestExamples({ path, method, operation }, baseUrl)}${replyExamples(operation)}</div>
</section>
`;
}

/** The name of a method, coloured by what it does. */
export const methodBadge = (method: Method): Html =>
  html`<span class="method ${method}">${method.toUpperCase()}</span>`;

function parametersTable({ parameters }: Operation): Html {
  const members = parameters.map(({ name, in: place, required = false, description, schema }) => ({
    name,
    schema,
    isRequired: required,
    description,
    note: `in ${place}`,
  }));
  return html`<h4>Parameters</h4>\n${membersTable(members, 'Parameter')}`;
}

function bodyTables(document: OpenApiDocument, { requestBody }: Operation): Html | undefined {
  if (requestBody === undefined) return undefined;
  const bodies = Object.entries(requestBody.content).map(([type, { schema }]) => {
    const members = membersOf(document, resolve(document, schema));
    return html`<p><code>${type}</code>: ${schemaType(schema)}</p>
${members.length === 0 ? undefined : membersTable(members, 'Member')}`;
  });
  return html`<h4>Body</h4>\n${bodies}`;
}

/** The calls of an operation's examples, as curl; the first is unfolded. */
export function requestExamples({ path, method, operation }: PlacedOperation, baseUrl: string): Html {
  const url = exampleUrl(baseUrl, path, operation);
  const examples = Object.values(operation.requestBody?.content['application/json']?.examples ?? {});
  if (examples.length === 0) return html`<h4>Call</h4>\n${curlExample({ method, url, body: undefined })}`;
  const blocks = examples.map(({ summary, value }, index) => {
    const query = modelInAddress(operation, value);
    return exampleBlock(summary, curlExample({ method, url: url + query, body: value }), index === 0);
  });
  return html`<h4>Call</h4>\n${blocks}`;
}

/** The model as a query, where it may stand there and the body has none. */
function modelInAddress({ parameters }: Operation, body: unknown): string {
  const parameter = parameters.find(({ name, in: place }) => name === 'model_id' && place === 'query');
  const isInBody = JSON.stringify(body).includes('"model_id"');
  return parameter === undefined || isInBody ? '' : `?model_id=${String(parameter.example)}`;
}

/** What an operation's successful calls are answered. */
export function replyExamples({ responses }: Operation): Html | undefined {
  const success = responses[200];
  if (success === undefined) return undefined;
  const media: MediaType | undefined = success.content?.['application/json'];
  const blocks = Object.values(media?.examples ?? {}).map(({ summary, value }, index) => {
    return exampleBlock(summary, jsonCode(value), index === 0);
  });
  return html`<h4>Answer</h4>\n${blocks}`;
}

const exampleBlock = (summary: string, block: Html, isOpen: boolean): Html =>
  isOpen
    ? html`<details open><summary>${summary}</summary>${block}</details>\n`
    : html`<details><summary>${summary}</summary>${block}</details>\n`;
