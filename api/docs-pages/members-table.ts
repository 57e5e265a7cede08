import type { OpenApiDocument, Schema } from '../openapi/openapi-types.js';
import { resolve } from '../openapi/resolve.js';
import { type Html, type HtmlPart, html } from './html.js';
import { inline } from './markdown.js';
import { schemaLimits, schemaType } from './schema-type.js';

/** One row of a table of members or parameters. */
export interface Member {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  readonly description: string;
  /** A word beside the name, such as where a parameter stands. */
  readonly note?: string;
}

/** A table of members: name, type, and what each means. On a narrow screen its rows stand as blocks. */
export function membersTable(members: readonly Member[], heading: string): Html {
  return html`<table class="members">
<thead><tr><th scope="col">${heading}</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>
<tbody>
${members.map(row)}</tbody>
</table>
`;
}

/** The members of an object schema; those of nested ones follow as `error.code` and `gates[].state`. */
export function membersOf(document: OpenApiDocument, schema: Schema, prefix = ''): Member[] {
  const required = new Set((schema.required ?? []) as readonly string[]);
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  return properties.flatMap(([name, member]) => {
    const { description } = resolve(document, member);
    return [
      {
        name: prefix + name,
        schema: member,
        isRequired: required.has(name),
        description: typeof description === 'string' ? description : '',
      },
      ...membersOf(document, member, `${prefix}${name}.`),
      ...membersOf(document, (member.items ?? {}) as Schema, `${prefix}${name}[].`),
    ];
  });
}

function row({ name, schema, isRequired, description, note }: Member): Html {
  const limits = schemaLimits(schema);
  const type: HtmlPart[] = [schemaType(schema)];
  if (note !== undefined) limits.unshift(note);
  if (limits.length > 0) type.push(html`<small>${limits.join(', ')}</small>`);
  return html`<tr><th scope="row"><code>${name}</code>${isRequired ? html`<small>required</small>` : undefined}</th><td>${type}</td><td>${inline(description)}</td></tr>
`;
}
