/** Characters of a crm_id at most. */
export const maxCrmId = 255;

/** Whether a text can be a crm_id: no longer than that, without NUL or half of a surrogate pair. */
export const isCrmId = (text: string): boolean =>
  !isLongerThan(text, maxCrmId) && !text.includes('\0') && text.isWellFormed();

/**
 * A field name without regard to case, spaces, `_` and `-`: "Lead Source", "lead_source" and "LEADSOURCE" are one.
 * @param name a field name of a manifest or a key of a record
 */
export function foldFieldName(name: string): string {
  return foldedText(name).replace(/[\s_-]+/g, '');
}

/**
 * Whether a text has more characters (code points, as in JSON Schema) than `most`. A text that is far longer is not looked
 * through.
 */
export const isLongerThan = (text: string, most: number): boolean =>
  text.length > most && (text.length > 2 * most || [...text].length > most);

const space = 32;
const lastPrintable = 126;
/** NFKC puts the marks of a letter in order, which takes the square of their number; no language has as many (UAX 15, 13). */
const marksBeyondThirty = /(\p{M}{30})\p{M}+/gu;

/**
 * A text as values are compared: NFKC, trimmed, runs of white space as one space. Of the marks of a letter, thirty count.
 * @param text any string, lone surrogates included
 */
function normalText(text: string): string {
  if (isAlreadyNormal(text)) return text;
  return text.replace(marksBeyondThirty, '$1').normalize('NFKC').replace(/\s+/g, ' ').trim();
}

/**
 * `normalText` without regard to case. Upper case comes first so that "straße" and "STRASSE" are one text.
 * @param text any string, lone surrogates included
 */
export function foldedText(text: string): string {
  return normalText(text).toUpperCase().toLowerCase();
}

/** Words of printable ASCII with one space between them. A loop: a pattern would overflow its stack on megabytes. */
function isAlreadyNormal(text: string): boolean {
  let afterSpace = true;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    const isSpace = code === space;
    if (code < space || code > lastPrintable || (isSpace && afterSpace)) return false;
    afterSpace = isSpace;
  }
  return !afterSpace || text === '';
}
