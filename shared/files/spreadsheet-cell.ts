import { isOddOpening, withoutOtherQuotes } from './split-cells.js';

/** Characters that begin a formula, also in their full-width forms, with the apostrophes before them. */
const formula = /^'*[=+\-@\t\r\n＝＋－＠]/;
const markedFormula = /^'+[=+\-@\t\r\n＝＋－＠]/;
const number = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i;

/**
 * Puts an apostrophe before a text that a spreadsheet would take for a formula. Formulas of callers of the API would
 * run where the file is opened. Numbers stay numbers.
 */
export const spreadsheetCell = (text: string): string => (formula.test(text) && !number.test(text) ? `'${text}` : text);

/** The id in a cell of a file: one that `spreadsheetCell` has written, or see `valueOfCell`. */
export const textOfCell = (cell: string): string => (markedFormula.test(cell) ? cell.slice(1) : valueOfCell(cell));

/** The text of a cell that `spreadsheetCell` has written. */
export const writtenText = (cell: string): string => (markedFormula.test(cell) ? cell.slice(1) : cell);

/** The longest text of a cell of a spreadsheet. A regular expression overflows on megabytes. */
const maxCell = 32_767;

/** A text that is written as a formula, so that a spreadsheet keeps it as it is: `="00123"`. */
const formulaText = /^\s*=\s*"((?:[^"]|"")*)"\s*$/;
const [space, equals, tilde] = [0x20, 0x3d, 0x7e];

/**
 * The value of a cell: the text of `="00123"` is 00123, and that of a cell in curly quotes stands between these. All
 * other cells are as they are.
 */
export function valueOfCell(cell: string): string {
  const first = cell.charCodeAt(0);
  // Nearly all cells end here: this is called for each.
  if (first > space && (first <= tilde ? first !== equals : !isOddOpening(first))) return cell;
  if (cell.length > maxCell) return cell;
  const [, text] = formulaText.exec(cell) ?? [];
  return text === undefined ? withoutOtherQuotes(cell) : text.replaceAll('""', '"');
}

const quotedCharacters = /["\r\n]/;

/**
 * Writes a cell of a CSV line, in quotes where it needs them.
 * @param delimiter one character
 */
export const csvCell = (text: string, delimiter = ','): string =>
  quotedCharacters.test(text) || text.includes(delimiter) ? `"${text.replaceAll('"', '""')}"` : text;
