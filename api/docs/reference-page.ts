import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { projectFile } from '../../shared/process/project-root.js';
import { exampleModelId } from '../openapi/examples.js';
import type { OpenApiDocument } from '../openapi/openapi-types.js';
import { html, type Page, pageFrame, sourceHash, trusted } from './page-frame.js';
import { referenceMenu } from './reference-menu.js';

/** A file of the swagger-ui-dist package that the reference page loads. */
export interface ReferenceAsset {
  readonly name: string;
  readonly contentType: string;
}

/** Served below `/docs/`. */
export const referenceAssets: readonly ReferenceAsset[] = [
  { name: 'swagger-ui-bundle.js', contentType: 'text/javascript; charset=utf-8' },
  { name: 'swagger-ui.css', contentType: 'text/css; charset=utf-8' },
];

/**
 * The absolute path of an asset in the installed package.
 * @throws Error when the package is not installed
 */
export const assetFile = ({ name }: ReferenceAsset): string =>
  createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`);

/** In one script. The last one starts the page. */
const scripts = ['own-model.js', 'reference.js'] as const;

/**
 * The page at `/docs`: Swagger UI over `/openapi.json`, with a menu, a search, and samples beside each operation. It
 * loads nothing from other hosts.
 */
export function referencePage(document: OpenApiDocument): Page {
  const startScript = scripts.map((name) => readFileSync(projectFile(`api/docs/${name}`), 'utf8')).join('\n');
  return pageFrame({
    title: 'Leadscore API: reference',
    description: 'Every endpoint of the Leadscore API, with its parameters, replies and examples.',
    toRoot: './',
    current: 'reference',
    head: html`<link rel="stylesheet" href="docs/swagger-ui.css">
<script src="docs/swagger-ui-bundle.js" defer></script>
<script>${trusted(startScript)}</script>
`,
    body: html`<div class="reference">${referenceMenu(document)}<main>
<p id="filled" role="status" hidden></p>
<div id="reference" data-model="${exampleModelId}"></div>
</main></div>
<noscript>
This page needs JavaScript. The <a href="openapi.json">OpenAPI document</a> has the same content.
</noscript>
`,
    allow: {
      style: "'self'",
      other: `script-src 'self' '${sourceHash(startScript)}'; connect-src 'self'`,
    },
  });
}
