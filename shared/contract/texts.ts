/** Max characters of a crm_id. */
export const maxCrmId = 255;

/** Whether a text can be a crm_id: up to `maxCrmId` characters, no NUL, no lone surrogate. */
export const isCrmId = (text: string): boolean =>
  !isLongerThan(text, maxCrmId) && !text.includes('\0') && text.isWellFormed();

/**
 * Characters that show nothing, for a class of a regular expression. They are control characters, joiners, marks of
 * direction, fillers and variation selectors. scripts/export has the same list.
 */
export const invisibleCharacters =
  '\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f' +
  '\\u202a-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff9-\\ufffb';
const nameMarks = new RegExp(`[\\s_${invisibleCharacters}-]+`, 'g');

/**
 * Folds a field name of a manifest or a key of a record: case, spaces, `_`, `-` and invisible characters do not count.
 * "Lead Source", "lead_source" and "LEADSOURCE" fold to the same text.
 */
export function foldFieldName(name: string): string {
  return foldedText(name).replace(nameMarks, '');
}

/** A longer text is another name: folding adds no characters to speak of, and folding a megabyte takes long. */
export const longestForm = (name: string): number => 2 * name.length + 16;

/** Whether a text has more than `max` characters (code points, as in JSON Schema). Counts them only when needed. */
export const isLongerThan = (text: string, max: number): boolean =>
  text.length > max && (text.length > 2 * max || [...text].length > max);

/** A text of at most `max` UTF-16 code units. A longer one ends with `…`, and no surrogate pair is cut in half. */
export const shortenedText = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;

const space = 32;
const lastPrintable = 126;
/** NFKC sorts a letter's marks in quadratic time. No language uses more than 30 (UAX 15, section 13). */
const maxMarks = 30;
const marksBeyondThirty = /(\p{M}{30})\p{M}+/gu;

/**
 * The form in which values are compared: NFKC, trimmed, runs of white space as one space, at most 30 marks a letter.
 * @param text any string, lone surrogates included
 */
function normalText(text: string): string {
  if (isAlreadyNormal(text)) return text;
  return boundedNfkc(text).replace(/\s+/g, ' ').trim();
}

/** NFKC in linear time: marks beyond the thirtieth of a letter are dropped first. No other code calls `normalize`. */
export function boundedNfkc(text: string): string {
  // The parts of a long list are short: the regular expression would take most of their time.
  return (text.length > maxMarks ? text.replace(marksBeyondThirty, '$1') : text).normalize('NFKC');
}

/**
 * `normalText`, case folded. Upper case comes first, so that "straße" and "STRASSE" fold to the same text. The capital
 * "ẞ" stays itself in upper case, so it is replaced.
 * @param text any string, lone surrogates included
 */
export function foldedText(text: string): string {
  return normalText(text).replaceAll('ẞ', 'SS').toUpperCase().toLowerCase();
}

/**
 * Whether a text is words of printable ASCII with single spaces. A loop: a regular expression overflows on megabytes.
 */
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
