import { methods, type OpenApiDocument } from '../openapi/openapi-types.js';
import { resolve } from '../openapi/resolve.js';
import { html } from './html.js';
import { anchorOf, headingsOf, markdown } from './markdown.js';
import {
  methodBadge,
  operationSection,
  type PlacedOperation,
  replyExamples,
  requestExamples,
} from './operation-section.js';
import { type NavigationGroup, type Page, pageFrame } from './page-frame.js';
import { schemaSection } from './schema-section.js';

/**
 * The page at `/docs`: the guide, every endpoint, every schema, from the OpenAPI document.
 * @param document OpenAPI 3.1
 * @param baseUrl address of the service for the examples, without a trailing slash
 * @throws Error when a reference in the document points to nothing
 */
export function referencePage(document: OpenApiDocument, baseUrl: string): Page {
  const operations = operationsOf(document);
  const groups = document.tags.map((tag) => ({
    ...tag,
    operations: operations.filter(({ operation }) => operation.tags.includes(tag.name)),
  }));
  const { info } = document;
  const [first] = operations;
  const main = html`<section class="split guide">
<div class="about">
<h1>${info.title}</h1>
${markdown(info.description)}</div>
<div class="examples">
${first && [requestExamples(first, baseUrl), replyExamples(first.operation)]}</div>
</section>
${groups.map(
  ({ name, description, operations }) => html`<h2 id="${anchorOf(name)}-endpoints">${name}</h2>
<p>${description}</p>
${operations.map((placed) => operationSection(document, placed, baseUrl))}`,
)}<h2 id="schemas">Schemas</h2>
${Object.entries(document.components.schemas).map(([name, schema]) => schemaSection(document, name, schema))}`;
  return pageFrame({
    title: `${info.title}: reference`,
    description: info.summary ?? info.title,
    toRoot: './',
    current: 'reference',
    navigation: navigationOf(document, groups),
    main,
  });
}

function operationsOf(document: OpenApiDocument): PlacedOperation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method];
      if (operation === undefined) return [];
      const parameters = operation.parameters.map((parameter) => resolve(document, parameter));
      return [{ path, method, operation: { ...operation, parameters } }];
    }),
  );
}

function navigationOf(
  { info, components }: OpenApiDocument,
  groups: readonly { readonly name: string; readonly operations: readonly PlacedOperation[] }[],
): NavigationGroup[] {
  return [
    {
      title: 'Guide',
      links: headingsOf(info.description).map(({ id, title }) => ({ href: `#${id}`, label: html`${title}` })),
    },
    ...groups.map(({ name, operations }) => ({
      title: name,
      links: operations.map(({ method, path, operation }) => ({
        href: `#${operation.operationId}`,
        label: html`${methodBadge(method)} <code>${path}</code>`,
      })),
    })),
    {
      title: 'Schemas',
      links: Object.keys(components.schemas).map((name) => ({ href: `#${name}`, label: html`${name}` })),
    },
  ];
}
