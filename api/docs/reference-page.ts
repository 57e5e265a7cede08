import { createRequire } from 'node:module';
import { html, type Page, pageFrame, sourceHash, trusted } from './page-frame.js';

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

// Swagger UI's dark theme applies below `html.dark-mode`. It does not follow the system's setting.
const startScript = `
const prefersDark = matchMedia('(prefers-color-scheme: dark)');
const setTheme = () => document.documentElement.classList.toggle('dark-mode', prefersDark.matches);
prefersDark.addEventListener('change', setTheme);
setTheme();
addEventListener('DOMContentLoaded', () => SwaggerUIBundle({
  url: new URL('openapi.json', location.href).href,
  dom_id: '#reference',
  deepLinking: true,
  defaultModelRendering: 'model',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  requestSnippetsEnabled: true,
  validatorUrl: null,
}));
`;

/** The page at `/docs`: Swagger UI over `/openapi.json`. It loads nothing from other hosts. */
export function referencePage(): Page {
  return pageFrame({
    title: 'Leadscore API: reference',
    description: 'Every endpoint of the Leadscore API, with its parameters, replies and examples.',
    toRoot: './',
    current: 'reference',
    head: html`<link rel="stylesheet" href="docs/swagger-ui.css">
<script src="docs/swagger-ui-bundle.js" defer></script>
<script>${trusted(startScript)}</script>
`,
    body: html`<main id="reference"></main>
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
