import type { OpenApiDocument, Schema } from '../openapi/openapi-types.js';
import { type Html, html } from './html.js';
import { jsonCode } from './json-code.js';
import { inline } from './markdown.js';
import { membersOf, membersTable } from './members-table.js';
import { schemaType } from './schema-type.js';

/** The section of one named schema: what it is, its members, an example where it has one. */
export function schemaSection(document: OpenApiDocument, name: string, schema: Schema): Html {
  const members = membersOf(document, schema);
  const { description, examples, anyOf } = schema;
  const [example] = Array.isArray(examples) ? examples : [];
  return html`<section class="topic about" id="${name}">
<h3><code>${name}</code></h3>
<p>${inline(typeof description === 'string' ? description : '')}</p>
${Array.isArray(anyOf) ? html`<p>One of: ${schemaType({ anyOf })}.</p>\n` : undefined}${members.length === 0 ? undefined : membersTable(members, 'Member')}${example === undefined ? undefined : jsonCode(example)}</section>
`;
}
