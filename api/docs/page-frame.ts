import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { projectFile } from '../../shared/process/project-root.js';

export interface Page {
  readonly html: string;
  readonly contentSecurityPolicy: string;
}

export interface PageContent {
  readonly title: string;
  readonly description: string;
  /** Relative path from this page to `/`: the service may run under a path prefix. */
  readonly toRoot: './' | '../';
  readonly current: 'home' | 'quickstart' | 'reference' | 'errors';
  /** Elements at the end of `<head>`. */
  readonly head?: Html;
  readonly body: Html;
  /** Policy directives beyond the frame's own: the frame allows its style sheet and nothing else. */
  readonly allow?: { readonly style?: string; readonly other?: string };
}

/**
 * Wraps the content of a documentation page in the common document, with its Content-Security-Policy.
 * @throws Error when the style sheet is missing
 */
export function pageFrame(content: PageContent): Page {
  const { title, description, toRoot, current, head, body, allow } = content;
  const style = readFileSync(projectFile('api/docs/docs.css'), 'utf8');
  const link = (page: PageContent['current'], path: string, label: string): Html => {
    const mark = page === current ? trusted(' aria-current="page"') : undefined;
    return html`<a href="${toRoot}${path}"${mark}>${label}</a>`;
  };
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title}</title>
<meta name="description" content="${description}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${icon}">
<style>${trusted(style)}</style>
${head}</head>
<body>
<nav class="bar" aria-label="Documentation"><a class="brand" href="${toRoot}docs">Leadscore API</a>
${link('quickstart', 'docs/quickstart', 'Quickstart')} ${link('reference', 'docs', 'Reference')} ${link('errors', 'docs/errors', 'Errors')}
<a href="${toRoot}openapi.json">OpenAPI 3.1</a> <a href="${toRoot}openapi-3.0.json">OpenAPI 3.0</a></nav>
${body}</body>
</html>
`;
  const policy = [
    "default-src 'none'",
    `style-src '${sourceHash(style)}'${allow?.style === undefined ? '' : ` ${allow.style}`}`,
    'img-src data:',
    ...(allow?.other === undefined ? [] : [allow.other]),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return { html: document.text, contentSecurityPolicy: policy.join('; ') };
}

/** The Content-Security-Policy source that allows exactly this inline text. */
export const sourceHash = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`;

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath " +
  "fill='%230b7a75' d='M1 9h3v6H1zM6.5 5h3v10h-3zM12 1h3v14h-3z'/%3E%3C/svg%3E";

/** HTML text, as opposed to plain text that must be escaped. */
export class Html {
  constructor(readonly text: string) {}
}

/** A value in a template. Text is escaped, HTML is not, and undefined is left out. */
export type HtmlValue = Html | string | number | undefined | readonly HtmlValue[];

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** An HTML template that escapes the text in its values. */
export const html = (texts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html =>
  new Html(texts.map((text, index) => text + written(values[index])).join(''));

/** Text that goes into a template unescaped. Never pass input from outside. */
export const trusted = (text: string): Html => new Html(text);

function written(value: HtmlValue): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(written).join('');
  return String(value).replace(/[&<>"']/g, (character) => escapes[character] ?? '');
}
