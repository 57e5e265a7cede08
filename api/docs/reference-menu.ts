import { methods, type OpenApiDocument, type Operation } from '../openapi/openapi-types.js';
import { type Html, html } from './page-frame.js';

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** The menu of the reference page: a search, and the operations by tag. `reference.js` gives both their function. */
export function referenceMenu({ paths, tags }: OpenApiDocument): Html {
  const entries = Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((method): Entry[] => {
      const operation = item[method];
      return operation === undefined ? [] : [{ method, path, operation }];
    }),
  );
  return html`<nav class="menu" aria-label="Operations">
<label for="search">Search</label>
<input type="search" id="search" placeholder="Name, path or field" autocomplete="off">
<p id="nothing" role="status" hidden>No operation has this word.</p>
${tags.map(
  ({ name }) => html`<section>
<h2>${name}</h2>
<ul>
${entries.filter(({ operation }) => operation.tags.includes(name)).map((entry) => menuLine(name, entry))}</ul>
</section>
`,
)}</nav>
`;
}

const menuLine = (tag: string, { method, path, operation }: Entry): Html =>
  html`<li data-words="${searchedWords(path, operation)}"><a href="#/${encodeURIComponent(tag)}/${operation.operationId}" data-tag="${tag}" data-operation="${operation.operationId}" title="${method.toUpperCase()} ${path}"><span class="method ${method}">${method === 'delete' ? 'del' : method}</span> ${operation.summary}</a></li>
`;

/**
 * The words that the search finds an operation by, in lower case: also those of its parameters, members and examples.
 */
function searchedWords(
  path: string,
  { operationId, summary, description, parameters, requestBody }: Operation,
): string {
  const examples = JSON.stringify(Object.values(requestBody?.content ?? {}).map((media) => media.examples ?? {}));
  const texts = [path, operationId, summary, description, ...parameters.map(({ name }) => name), examples];
  return [
    ...new Set(
      texts
        .join(' ')
        .toLowerCase()
        .match(/[\p{L}\p{N}_/{}-]+/gu),
    ),
  ].join(' ');
}
