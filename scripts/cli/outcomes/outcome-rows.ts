import type { ConvertedValues } from '../../../shared/admin/outcomes/converted-values.js';
import { storedCrmId } from '../../../shared/contract/crm-id.js';
import { maxDaysAhead, outcomeDate } from '../../../shared/contract/dates.js';
import { foldFieldName } from '../../../shared/contract/texts.js';
import { columnOf, noSuchColumn, shownName } from '../../../shared/files/reading/csv-columns.js';
import type { HeaderStart } from '../../../shared/files/reading/file-records.js';
import { idOfText } from '../../../shared/files/reading/row-ids.js';
import { valueOfCell } from '../../../shared/files/spreadsheet-cell.js';
import type { Outcome } from '../../../shared/store/validation/outcomes.js';
import { formatAdvice, type InputFile } from '../score/input/input-file.js';
import { tableRows } from '../score/input/table-rows.js';
import type { Mistake } from './mistakes.js';

/** Column names. Undefined means the default name; `at` is optional by default. */
export interface OutcomeColumns {
  readonly crmId: string | undefined;
  readonly converted: string | undefined;
  readonly at: string | undefined;
}

/** One row of the file: its outcome or its mistake. */
export type OutcomeRow = { readonly line: number; readonly endByte: number } & (
  | ReadOutcome
  | { readonly mistake: Mistake }
);

interface ReadOutcome {
  readonly outcome: Outcome;
  /** The crm_id as the file has it. */
  readonly sentId: string;
  /** The cell of the converted column. */
  readonly value: string;
  /** Whether the lead has converted, and its cell of the date column is empty. */
  readonly lacksDate: boolean;
}

interface ColumnIndexes {
  readonly crmId: number;
  readonly converted: number;
  readonly at: number | undefined;
  readonly names: readonly string[];
}

/**
 * Reads the rows of a CSV with a header line and skips empty rows.
 * @param options `now` is the import time. It dates rows without an `at` column, and unconverted leads without a date
 * @throws CliError when a column is missing or the file cannot be read
 */
export async function* outcomeRows(
  input: InputFile,
  reading: {
    readonly columns: OutcomeColumns;
    readonly values: ConvertedValues;
    readonly now: Date;
    readonly correctsDates?: boolean;
    readonly onNotice?: (notice: string) => unknown;
  },
): AsyncGenerator<OutcomeRow> {
  const { columns, onNotice } = reading;
  let indexes: ColumnIndexes | undefined;
  const needed = [columns.crmId ?? 'crm_id', columns.converted ?? 'converted'].map(foldFieldName);
  const rules = {
    onNotice,
    formatAdvice: { ...formatAdvice, jsonl: 'Outcomes are read from a CSV alone' },
    canBeHeader: (names: readonly string[]) => {
      const folded = new Set(names.map(foldFieldName));
      return needed.some((name) => folded.has(name));
    },
    readHeader: async (names: readonly string[], start: HeaderStart) => {
      indexes = await columnIndexes(names, start, columns);
      return indexes.crmId;
    },
  };
  for await (const { cells, line, endByte, isEmpty, problem } of tableRows(input, rules)) {
    if (isEmpty || indexes === undefined) continue;
    const row = problem === undefined ? readRow(cells, indexes, reading) : { mistake: { what: problem } };
    yield { line, endByte, ...row };
  }
}

async function columnIndexes(
  header: readonly string[],
  { line, delimiter }: HeaderStart,
  columns: OutcomeColumns,
): Promise<ColumnIndexes> {
  const names = header.map((name) => name.trim());
  const indexOf = (wanted: string, purpose: string) => columnOf(names, { wanted, line, purpose });
  const required = async (wanted: string, option: string): Promise<number> => {
    const index = await indexOf(wanted, option === '--crm-id' ? 'crm_id' : `column of ${option}`);
    if (index !== undefined) return index;
    const own = names.filter((each) => each !== '');
    throw noSuchColumn(`column ${shownName(wanted)}. Name the column with ${option}`, { names: own, line, delimiter });
  };
  return {
    crmId: await required(columns.crmId ?? 'crm_id', '--crm-id'),
    converted: await required(columns.converted ?? 'converted', '--converted'),
    at: columns.at === undefined ? await indexOf('at', 'column of --at') : await required(columns.at, '--at'),
    names,
  };
}

function readRow(
  record: readonly string[],
  indexes: ColumnIndexes,
  reading: { readonly values: ConvertedValues; readonly now: Date; readonly correctsDates?: boolean },
): ReadOutcome | { readonly mistake: Mistake } {
  const { values, now, correctsDates } = reading;
  const cell = valueOfCell(record[indexes.crmId] ?? '');
  const name = (index: number): string => `"${indexes.names[index] ?? ''}"`;
  const read = idOfText(cell);
  if ('problem' in read) return { mistake: { what: `${name(indexes.crmId)}: ${read.problem}` } };
  const { id } = read;
  if (id === null && cell === '') return { mistake: { what: `${name(indexes.crmId)} is empty` } };
  if (id === null) return { mistake: { what: `${name(indexes.crmId)} names no lead`, value: cell } };
  const crmId = storedCrmId(id);
  const value = valueOfCell(record[indexes.converted] ?? '').trim();
  const converted = values.read(value);
  if (converted === undefined) return { mistake: { what: `${name(indexes.converted)} ${values.rule}`, value } };
  const text = indexes.at === undefined ? '' : valueOfCell(record[indexes.at] ?? '').trim();
  const date = outcomeDate(text, { converted, nowMs: now.getTime() });
  if ('at' in date) {
    const lacksDate = indexes.at !== undefined && date.isUndated === true;
    const corrected = correctsDates === true && date.isUndated !== true ? { isCorrected: true as const } : {};
    return { outcome: { crmId, converted, ...date, ...corrected }, sentId: id, value, lacksDate };
  }
  const must =
    date.problem === 'no_date'
      ? 'must be a date such as 2026-11-21 or 2026-11-21T14:05:00Z'
      : `must be at most ${maxDaysAhead} days in the future for a converted lead`;
  return { mistake: { what: `${name(indexes.at ?? 0)} ${must}`, value: text } };
}
