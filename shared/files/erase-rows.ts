import { CsvRows } from './csv-rows.js';
import type { FileForm } from './file-form.js';
import { keptColumns } from './result-columns.js';
import { valueOfCell, writtenText } from './spreadsheet-cell.js';

/** Replaces errors of an erased lead: they may quote its data. */
const erased = 'The lead was erased';

/**
 * Result lines without the data of a lead: its lines keep the row number and the scores.
 * @param results lines of `resultText`
 * @returns undefined if the lead is not in them
 */
export function resultsWithoutLead(results: string, crmId: string, { shape, options }: FileForm): string | undefined {
  if (shape.format === 'jsonl') return jsonWithout(results, crmId);
  const { columns, delimiter, crm_id_field: field } = shape;
  const inputs = options.include_input ? columns.length : 2;
  const crmIdCell = options.include_input ? columns.indexOf(field ?? '\0') : 1;
  if (crmIdCell === -1) return undefined;
  // A cell of the file, or one that the results added.
  const textOf = options.include_input ? valueOfCell : writtenText;
  return csvWithout(results, { crmId, crmIdCell, delimiter, textOf }, (cells) =>
    cells.map((cell, index) => {
      if (index === 0 && !options.include_input) return cell;
      if (index >= inputs && index < inputs + keptColumns) return cell;
      return index === cells.length - 1 && cell !== '' ? erased : '';
    }),
  );
}

/**
 * Error lines without the data of a lead: its lines keep the row and line number.
 * @param errors lines of `errorText`
 * @returns undefined if the lead is not in them
 */
export function errorsWithoutLead(errors: string, crmId: string, { shape }: FileForm): string | undefined {
  if (shape.format === 'jsonl') return jsonWithout(errors, crmId);
  const { delimiter } = shape;
  return csvWithout(errors, { crmId, crmIdCell: 2, delimiter, textOf: writtenText }, ([row = '', line = '']) => [
    row,
    line,
    '',
    '',
    erased,
    '',
  ]);
}

interface ErasedLead {
  readonly crmId: string;
  readonly crmIdCell: number;
  readonly delimiter: string;
  /** The crm_id in a cell. */
  readonly textOf: (cell: string) => string;
}

function csvWithout(
  text: string,
  { crmId, crmIdCell, delimiter, textOf }: ErasedLead,
  without: (cells: readonly string[]) => string[],
): string | undefined {
  // Most slices do not have the lead. In a cell each of its quotes is written twice.
  if (!crmId.includes('"') && !text.includes(crmId)) return undefined;
  const rows = new CsvRows(text, { delimiter, maxCells: Number.POSITIVE_INFINITY, firstLine: 1 });
  let changed = '';
  let copied = 0;
  while (rows.next()) {
    if (textOf(rows.cells[crmIdCell] ?? '') !== crmId) continue;
    changed += text.slice(copied, rows.start) + without(rows.cells).join(delimiter);
    copied = rows.end;
  }
  return copied === 0 ? undefined : changed + text.slice(copied);
}

const keptMembers = new Set([
  'row',
  'line',
  'score',
  'conversion_likelihood',
  'enriched',
  'previous_score',
  'delta',
  'error',
  'message',
]);

function jsonWithout(text: string, crmId: string): string | undefined {
  const member = `"crm_id":${JSON.stringify(crmId)}`;
  if (!text.includes(member)) return undefined;
  let isChanged = false;
  const lines = text.split('\n').map((line) => {
    if (!line.includes(member)) return line;
    const value = JSON.parse(line) as Readonly<Record<string, unknown>>;
    // The same text may be in the input of another lead.
    if (value.crm_id !== crmId) return line;
    isChanged = true;
    const kept = Object.entries(value).filter(([name]) => keptMembers.has(name));
    return JSON.stringify(
      Object.fromEntries(kept.map(([name, each]) => [name, name === 'error' || name === 'message' ? erased : each])),
    );
  });
  return isChanged ? lines.join('\n') : undefined;
}
