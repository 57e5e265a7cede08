import type { FileForm, FileShape } from './file-form.js';
import { csvCell } from './spreadsheet-cell.js';

const scoreColumns = ['score', 'conversion_likelihood', 'enriched', 'previous_score', 'delta'] as const;
export const reasonColumns = ['top_reason_1', 'top_reason_2', 'top_reason_3'] as const;
const errorColumns = ['row', 'line', 'crm_id', 'field', 'message', 'surplus'] as const;

/** The columns that results add to those of the input. */
const addedColumns = (explain: boolean): string[] => [
  ...scoreColumns,
  'warnings',
  ...(explain ? reasonColumns : []),
  'error',
];

/** Number of the added columns that an erasure keeps. They come first. */
export const keptColumns = scoreColumns.length;

/** The prefix of all added names: `leadscore_` if a column of the input has one of these names in any case. */
function addedPrefix(columns: readonly string[], added: readonly string[]): string {
  const taken = new Set(columns.map((name) => name.trim().toLowerCase()));
  let prefix = '';
  while (added.some((name) => taken.has(prefix + name))) prefix += 'leadscore_';
  return prefix;
}

/** The first line of the results, with its line end; empty for JSONL. */
export function resultHeader(shape: FileShape, { include_input, explain }: FileForm['options']): string {
  if (shape.format === 'jsonl') return '';
  const added = addedColumns(explain);
  const mark = markOf(shape);
  if (!include_input) return mark + csvLine(['row', 'crm_id', ...added], shape.delimiter);
  const prefix = addedPrefix(shape.columns, added);
  return mark + csvLine([...shape.columns, ...added.map((name) => prefix + name)], shape.delimiter);
}

/** A line of a CSV, with its line end. */
export const csvLine = (cells: readonly string[], delimiter: string): string =>
  `${cells.map((cell) => csvCell(cell, delimiter)).join(delimiter)}\n`;

/** The first line of the list of errors, with its line end; empty for JSONL. */
export const errorHeader = (shape: FileShape): string =>
  shape.format === 'csv' ? markOf(shape) + csvLine(errorColumns, shape.delimiter) : '';

/** The byte order mark of a file whose input has one: without it, Excel reads the bytes of UTF-8 as other letters. */
const markOf = ({ hasMark }: FileShape): string => (hasMark === true ? '\uFEFF' : '');
