/** Text that is HTML already. */
export class Html {
  constructor(readonly text: string) {}
}

/** What may stand in a template: text is escaped, HTML is not, nothing is left out. */
export type HtmlPart = Html | string | number | undefined | readonly HtmlPart[];

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A template of HTML; what is put into it is escaped. */
export const html = (texts: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html =>
  new Html(texts.map((text, index) => text + written(parts[index])).join(''));

function written(part: HtmlPart): string {
  if (part === undefined) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(written).join('');
  return String(part).replace(/[&<>"']/g, (character) => escapes[character] ?? '');
}
