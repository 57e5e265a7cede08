import { Html, html } from './html.js';

const lineWidth = 60;

/** JSON for people: what fits into a line stays in one. */
export function prettyJson(value: unknown, indent = ''): string {
  const line = spaced(value);
  if (typeof value !== 'object' || value === null || indent.length + line.length <= lineWidth) return line;
  const inner = `${indent}  `;
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const items = Array.isArray(value)
    ? value.map((item) => prettyJson(item, inner))
    : Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${prettyJson(member, inner)}`);
  return `${open}\n${items.map((item) => inner + item).join(',\n')}\n${indent}${close}`;
}

function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${spaced(member)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

const token = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\b\d[\d.eE+-]*|\b(?:true|false|null)\b/g;

/** A block of JSON with its names, texts and other values told apart by colour. */
export function jsonCode(value: unknown): Html {
  return html`<pre tabindex="0"><code>${colouredJson(prettyJson(value))}</code></pre>\n`;
}

/** A text of JSON with its tokens marked. */
export function colouredJson(text: string): Html {
  const parts: Html[] = [];
  let end = 0;
  for (const match of text.matchAll(token)) {
    const [all, quoted, colon] = match;
    parts.push(html`${text.slice(end, match.index)}`);
    if (quoted === undefined) parts.push(html`<span class="v">${all}</span>`);
    else if (colon === undefined) parts.push(html`<span class="s">${all}</span>`);
    else parts.push(html`<span class="k">${quoted}</span>${colon}`);
    end = match.index + all.length;
  }
  parts.push(html`${text.slice(end)}`);
  return new Html(parts.map((part) => part.text).join(''));
}
