import { type Html, type HtmlPart, html } from './html.js';

/**
 * The Markdown that descriptions use, as HTML: paragraphs, `## ` headings (with an id) and `code`. Anything else is text.
 */
export function markdown(text: string): Html {
  const blocks = text.split(/\n{2,}/).map((block) => block.replaceAll('\n', ' '));
  return html`${blocks.map(block)}`;
}

/** The `## ` headings of a Markdown text and their ids. */
export function headingsOf(text: string): { readonly id: string; readonly title: string }[] {
  return [...text.matchAll(/^## (.+)$/gm)].map(([, title = '']) => ({ id: anchorOf(title), title }));
}

/** `code` in a line of text. */
export function inline(text: string): Html {
  const parts = text.split('`').map((part, index): HtmlPart => {
    return index % 2 === 1 ? html`<code>${part}</code>` : part;
  });
  return html`${parts}`;
}

/** The id of a heading: its words in lower case, joined by hyphens. */
export const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');

function block(text: string): Html {
  const title = /^## (.+)$/.exec(text)?.[1];
  if (title === undefined) return html`<p>${inline(text)}</p>\n`;
  return html`<h3 id="${anchorOf(title)}">${title}</h3>\n`;
}
