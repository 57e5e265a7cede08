const SPACE = 32;
const LAST_PRINTABLE = 126;
/** NFKC puts the marks of a letter in order, which takes the square of their number; no language has as many (UAX 15, 13). */
const MARKS_BEYOND_THIRTY = /(\p{M}{30})\p{M}+/gu;

/**
 * A text as values are compared: NFKC, trimmed, runs of white space as one space. Of the marks of a letter, thirty count.
 * @param text any string, lone surrogates included
 */
function normalText(text: string): string {
  if (isAlreadyNormal(text)) return text;
  return text.replace(MARKS_BEYOND_THIRTY, '$1').normalize('NFKC').replace(/\s+/g, ' ').trim();
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
    const isSpace = code === SPACE;
    if (code < SPACE || code > LAST_PRINTABLE || (isSpace && afterSpace)) return false;
    afterSpace = isSpace;
  }
  return !afterSpace || text === '';
}
