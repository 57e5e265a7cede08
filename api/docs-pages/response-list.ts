import type { Header, OpenApiDocument, Operation, Response } from '../openapi/openapi-types.js';
import { resolve } from '../openapi/resolve.js';
import { type Html, html } from './html.js';
import { inline, markdown } from './markdown.js';
import { membersTable } from './members-table.js';
import { schemaType } from './schema-type.js';

/** Every response of an operation by status; its headers are folded away. */
export function responseList(document: OpenApiDocument, { responses }: Operation): Html {
  const items = Object.entries(responses).map(([status, response]) => {
    return Number(status) < 300 ? success(document, status, response) : refusal(document, status, response);
  });
  return html`<h4>Responses</h4>\n<dl>\n${items}</dl>\n`;
}

function success(document: OpenApiDocument, status: string, response: Response): Html {
  const schema = response.content?.['application/json']?.schema;
  return html`<dt><span class="status good">${status}</span></dt>
<dd>${markdown(response.description)}${schema === undefined ? undefined : html`<p>Body: ${schemaType(schema)}</p>`}${headersOf(document, response)}</dd>
`;
}

/** The codes of a refusal, each a link to the page of errors. */
function refusal(document: OpenApiDocument, status: string, response: Response): Html {
  const examples = Object.entries(response.content?.['application/json']?.examples ?? {});
  const codes = examples.map(([code, { summary }]) => {
    return html`<p><a href="docs/errors#${code}"><code>${code}</code></a> ${inline(summary)}</p>\n`;
  });
  return html`<dt><span class="status">${status}</span></dt>
<dd>${codes}${headersOf(document, response)}</dd>
`;
}

function headersOf(document: OpenApiDocument, response: Response): Html {
  const members = Object.entries(response.headers).map(([name, reference]) => {
    const { schema, description, required = false }: Header = resolve(document, reference);
    const { pattern: _pattern, ...shown } = schema;
    return { name, schema: shown, description, isRequired: required };
  });
  return html`<details><summary>Headers</summary>${membersTable(members, 'Header')}</details>\n`;
}
