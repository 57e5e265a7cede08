/**
 * Characters of a single value at most, white space around it not counted: a longer text is none. NFKC can make megabytes
 * eighteen times as long, so they never get there.
 */
export const maxValue = 4_096;
/** Characters of a text of several values at most: longer than what any CRM keeps in such a field. */
export const maxList = 65_536;

/** Ends what was cut. No white space, which would not be counted. */
const cutMark = '…';

/** A text as single values are read from it: one that is too long stays so by one character. */
export function cutValue(text: string): string {
  if (text.length <= maxValue) return text;
  const trimmed = text.trim();
  return trimmed.length <= maxValue ? trimmed : trimmed.slice(0, maxValue) + cutMark;
}

/** The same for a text that is read as several values, and perhaps as a single one too, which the white space leaves as it is. */
export function cutList(text: string): string {
  if (text.length <= maxList) return text;
  const trimmed = text.trim();
  return trimmed.length <= maxList ? trimmed.padEnd(maxList + 1) : trimmed.slice(0, maxList) + cutMark;
}

/** The same for a text that another model may have cut as a single value: its beginning is not read as all of a list. */
export function cutFilledList(text: string): string {
  const wasCut = text.length === maxValue + 1 && text.endsWith(cutMark);
  return wasCut ? text.padEnd(maxList + 1) : cutList(text);
}
