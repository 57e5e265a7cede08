/** HTML text, as opposed to plain text that must be escaped. */
export class Html {
  constructor(readonly text: string) {}
}

/** A value in a template. Text is escaped, HTML is not, and undefined is left out. */
export type HtmlPart = Html | string | number | undefined | readonly HtmlPart[];

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** An HTML template that escapes the text in its values. */
export const html = (texts: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html =>
  new Html(texts.map((text, index) => text + written(parts[index])).join(''));

/** Text that goes into a template unescaped. Never pass input from outside. */
export const trusted = (text: string): Html => new Html(text);

function written(part: HtmlPart): string {
  if (part === undefined) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(written).join('');
  return String(part).replace(/[&<>"']/g, (character) => escapes[character] ?? '');
}
