import type { LeadRecord } from './lead-record.js';

/**
 * Writes records as CSV after RFC 4180: a header line, CRLF after every line, quotes where they are needed.
 * Null and absent cells are empty; true and false are written so.
 * @param records plain records; the columns are their keys, in order of first appearance
 */
export function leadsCsv(records: readonly LeadRecord[]): string {
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const lines = [columns, ...records.map((record) => columns.map((column) => record[column] ?? ''))];
  return lines.map((cells) => `${cells.map((cell) => quoted(String(cell))).join(',')}\r\n`).join('');
}

/** Spaces at either end are data, and some readers drop them unless the cell is quoted. */
function quoted(cell: string): string {
  return /[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
