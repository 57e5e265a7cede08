import { type Html, html, trusted } from './page-frame.js';

/*
 * Renders the Markdown of our own documents: headings, paragraphs, lists of one level, tables and code.
 */

const fence = /^```/;
const heading = /^(#{1,4}) (.+)$/;
const item = /^(?:-|\d+\.) +/;
const inline = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)\s]+)\)/g;

/**
 * @param linkTo the target of a link of the document; undefined shows the text of the link alone
 */
export function renderMarkdown(markdown: string, linkTo: (target: string) => string | undefined): Html[] {
  const lines = markdown.split('\n');
  const blocks: Html[] = [];
  const text = (source: string) => inlineHtml(source, linkTo);
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? '';
    const from = at;
    at += 1;
    if (line.trim() === '') continue;
    const take = (isPart: (next: string) => boolean): string[] => {
      while (at < lines.length && isPart(lines[at] ?? '')) at += 1;
      return lines.slice(from, at);
    };
    const [, marks, title = ''] = heading.exec(line) ?? [];
    if (fence.test(line)) {
      const [, ...code] = take((next) => !fence.test(next));
      at += 1;
      blocks.push(html`<pre tabindex="0"><code>${code.join('\n')}</code></pre>\n`);
    } else if (marks !== undefined) {
      const tag = trusted(`h${marks.length}`);
      blocks.push(html`<${tag} id="${anchorOf(title)}">${text(title)}</${tag}>\n`);
    } else if (line.startsWith('|')) {
      blocks.push(
        table(
          take((next) => next.startsWith('|')),
          text,
        ),
      );
    } else if (item.test(line)) {
      const parts = take((next) => item.test(next) || next.startsWith('  '));
      const items = parts.join('\n').split(/\n(?=(?:-|\d+\.) )/);
      const tag = trusted(line.startsWith('-') ? 'ul' : 'ol');
      blocks.push(html`<${tag}>\n${items.map((each) => html`<li>${text(each.replace(item, ''))}</li>\n`)}</${tag}>\n`);
    } else blocks.push(html`<p>${text(take((next) => next.trim() !== '' && !isBlock(next)).join('\n'))}</p>\n`);
  }
  return blocks;
}

const isBlock = (line: string): boolean => [fence, heading, item, /^\|/].some((start) => start.test(line));

/** The anchor of a heading, as code hosts make it. */
const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

function table([head = '', _rule, ...rows]: readonly string[], text: (source: string) => Html[]): Html {
  const cells = (row: string) => row.slice(1, row.lastIndexOf('|')).split('|');
  return html`<div class="table"><table>
<thead><tr>${cells(head).map((cell) => html`<th scope="col">${text(cell.trim())}</th>`)}</tr></thead>
<tbody>
${rows.map((row) => html`<tr>${cells(row).map((cell) => html`<td>${text(cell.trim())}</td>`)}</tr>\n`)}</tbody>
</table></div>
`;
}

function inlineHtml(source: string, linkTo: (target: string) => string | undefined): Html[] {
  const parts: Html[] = [];
  let end = 0;
  for (const { index, 0: whole, 1: code, 2: strong, 3: label = '', 4: target = '' } of source.matchAll(inline)) {
    parts.push(html`${source.slice(end, index)}`);
    end = index + whole.length;
    if (code !== undefined) parts.push(html`<code>${code}</code>`);
    else if (strong !== undefined) parts.push(html`<strong>${inlineHtml(strong, linkTo)}</strong>`);
    else {
      const link = linkTo(target);
      const shown = inlineHtml(label, linkTo);
      parts.push(link === undefined ? html`${shown}` : html`<a href="${link}">${shown}</a>`);
    }
  }
  return [...parts, html`${source.slice(end)}`];
}
