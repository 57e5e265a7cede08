import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { projectFile } from '../../shared/project-root.js';
import { Html, html } from './html.js';

/** A page that is ready to be sent. */
export interface Page {
  readonly html: string;
  /** Allows the page's own style and nothing else. */
  readonly contentSecurityPolicy: string;
}

export interface PageParts {
  readonly title: string;
  readonly description: string;
  /** From this page to `/`, as a relative link with a trailing slash: the service may stand behind a path. */
  readonly toRoot: './' | '../';
  readonly current: 'reference' | 'errors';
  readonly navigation: readonly NavigationGroup[];
  readonly main: Html;
}

export interface NavigationGroup {
  readonly title: string;
  readonly links: readonly { readonly href: string; readonly label: Html }[];
}

/**
 * A whole page, with everything it needs in it.
 * @throws Error when a style sheet is missing
 */
export function pageFrame(parts: PageParts): Page {
  const style = styleSheets.map((file) => readFileSync(projectFile(file), 'utf8')).join('');
  const hash = createHash('sha256').update(style).digest('base64');
  return {
    html: documentOf(parts, style).text,
    contentSecurityPolicy:
      `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'; ` +
      "frame-ancestors 'none'",
  };
}

const styleSheets = ['text', 'frame', 'sections'].map((name) => `api/docs-pages/style/${name}.css`);

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%230b7a75' " +
  "d='M1 9h3v6H1zM6.5 5h3v10h-3zM12 1h3v14h-3z'/%3E%3C/svg%3E";

function documentOf(parts: PageParts, style: string): Html {
  const { title, description, toRoot, current, navigation, main } = parts;
  const here = (page: PageParts['current']) =>
    page === current ? new Html(' aria-current="page"') : undefined;
  const contents = navigation.map(navigationGroup);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title}</title>
<meta name="description" content="${description}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${icon}">
<style>${new Html(style)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<a class="brand" href="${toRoot}docs"><svg viewBox="0 0 16 16" aria-hidden="true"><path d="M1 9h3v6H1zM6.5 5h3v10h-3zM12 1h3v14h-3z"/></svg>Leadscore API</a>
<nav class="pages" aria-label="Pages"><a href="${toRoot}docs"${here('reference')}>Reference</a><a href="${toRoot}docs/errors"${here('errors')}>Errors</a><a href="${toRoot}openapi.json">OpenAPI 3.1</a><a href="${toRoot}openapi-3.0.json">3.0</a></nav>
</header>
<div class="layout">
<details class="contents narrow"><summary>Contents</summary><nav aria-label="Contents">${contents}</nav></details>
<nav class="contents wide" aria-label="Contents">${contents}</nav>
<main id="main">
${main}</main>
</div>
</body>
</html>
`;
}

const navigationGroup = ({ title, links }: NavigationGroup): Html => html`<h2>${title}</h2>
<ul>
${links.map(({ href, label }) => html`<li><a href="${href}">${label}</a></li>\n`)}</ul>
`;
