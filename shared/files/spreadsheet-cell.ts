/** Characters that begin a formula, also in their full-width forms, with the apostrophes before them. */
const formula = /^'*[=+\-@\t\r\n＝＋－＠]/;
const markedFormula = /^'+[=+\-@\t\r\n＝＋－＠]/;
const number = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i;

/**
 * Puts an apostrophe before a text that a spreadsheet would take for a formula. Formulas of callers of the API would
 * run where the file is opened. Numbers stay numbers.
 */
export const spreadsheetCell = (text: string): string => (formula.test(text) && !number.test(text) ? `'${text}` : text);

/** The text of a cell that `spreadsheetCell` has written. */
export const textOfCell = (cell: string): string => (markedFormula.test(cell) ? cell.slice(1) : cell);

const quotedCharacters = /["\r\n]/;

/**
 * Writes a cell of a CSV line, in quotes where it needs them.
 * @param delimiter one character
 */
export const csvCell = (text: string, delimiter = ','): string =>
  quotedCharacters.test(text) || text.includes(delimiter) ? `"${text.replaceAll('"', '""')}"` : text;
