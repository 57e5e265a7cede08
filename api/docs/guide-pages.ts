import { readFileSync } from 'node:fs';
import { projectFile } from '../../shared/process/project-root.js';
import { renderMarkdown } from './markdown.js';
import { html, type Page, pageFrame } from './page-frame.js';

/** The page at `/`. It says where the documentation is. */
export const homePage = (): Page =>
  pageFrame({
    title: 'Leadscore API',
    description: 'Where the documentation of the Leadscore API is.',
    toRoot: './',
    current: 'home',
    body: html`<main class="article">
<h1>Leadscore API</h1>
<p>This service scores CRM records. Each call needs an API key.</p>
<ul>
<li><a href="docs/quickstart">Quickstart</a>: the first calls, in curl, Python and JavaScript</li>
<li><a href="docs">Reference</a>: every endpoint, to read and to try</li>
<li><a href="docs/errors">Errors</a>: every code, with its remedy</li>
<li><a href="openapi.json">OpenAPI 3.1</a> and <a href="openapi-3.0.json">OpenAPI 3.0</a>: the same for programs</li>
</ul>
</main>
`,
  });

/** The page at `/docs/quickstart`: `docs/quickstart.md`. Other documents are not served, so it has no links to them. */
export const quickstartPage = (keyBrand: string): Page =>
  pageFrame({
    title: 'Leadscore API: quickstart',
    description: 'The first calls of the Leadscore API, in curl, Python and JavaScript.',
    toRoot: '../',
    current: 'quickstart',
    body: html`<main class="article">
${renderMarkdown(
  readFileSync(projectFile('docs/quickstart.md'), 'utf8').replace('`_sk_test_`', `\`${keyBrand}_sk_test_\``),
  (target) => (target.startsWith('#') ? target : undefined),
)}</main>
`,
  });
