import { isOddOpening, withoutOtherQuotes } from './split-cells.js';

/** Characters that begin a formula, also in their full-width forms, and an apostrophe. */
const marked = /^['=+\-@\t\r\n＝＋－＠]/;
const number = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i;

/**
 * Puts an apostrophe before a text that a spreadsheet would take for a formula, or that begins with an apostrophe.
 * Formulas of callers of the API would run where the file is opened. Numbers stay numbers.
 */
export const spreadsheetCell = (text: string): string => (marked.test(text) && !number.test(text) ? `'${text}` : text);

/** The text of a cell that `spreadsheetCell` has written. */
export const writtenText = (cell: string): string => (cell.startsWith("'") ? cell.slice(1) : cell);

/** The longest text of a cell of a spreadsheet. A regular expression overflows on megabytes. */
const maxCell = 32_767;

/** A text that is written as a formula, so that a spreadsheet keeps it as it is: `="00123"`. */
const formulaText = /^\s*=\s*"((?:[^"]|"")*)"\s*$/;
/** Dutch words begin with an apostrophe of their own: `'s-Hertogenbosch`, `'t Hof`. */
const ownApostrophe = /^'[dkmnrst][\s-]\p{L}/iu;
const [space, equals, apostrophe, tilde] = [0x20, 0x3d, 0x27, 0x7e];

/**
 * The value of a cell: the text of `="00123"` and of `'00123` is 00123, and that of a cell in curly quotes stands
 * between these. All other cells are as they are.
 */
export function valueOfCell(cell: string): string {
  const first = cell.charCodeAt(0);
  // Nearly all cells end here: this is called for each.
  if (first > space && (first <= tilde ? first !== equals && first !== apostrophe : !isOddOpening(first))) return cell;
  if (cell.length > maxCell) return cell;
  if (first === apostrophe) return withoutApostrophe(cell);
  const [, text] = formulaText.exec(cell) ?? [];
  return text === undefined ? withoutOtherQuotes(cell) : text.replaceAll('""', '"');
}

/** An apostrophe before a value is no part of it: with it, a spreadsheet keeps a text as it is typed. */
function withoutApostrophe(cell: string): string {
  const text = cell.slice(1);
  if (marked.test(text)) return text;
  // Some programs write texts in apostrophes.
  if (text.endsWith("'") && !text.slice(0, -1).includes("'")) return text.slice(0, -1);
  return ownApostrophe.test(cell) ? cell : text;
}

const quotedCharacters = /["\r\n]/;

/**
 * Writes a cell of a CSV line, in quotes where it needs them.
 * @param delimiter one character
 */
export const csvCell = (text: string, delimiter = ','): string =>
  quotedCharacters.test(text) || text.includes(delimiter) ? `"${text.replaceAll('"', '""')}"` : text;
