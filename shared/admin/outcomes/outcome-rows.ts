import { storedCrmId } from '../../contract/crm-id.js';
import { maxDaysAhead, outcomeDate } from '../../contract/dates.js';
import { foldFieldName } from '../../contract/texts.js';
import { columnOf, noSuchColumn, shownName } from '../../files/reading/csv-columns.js';
import type { CanBeHeader } from '../../files/reading/csv-start.js';
import type { FilePart, HeaderStart } from '../../files/reading/file-records.js';
import { idOfText } from '../../files/reading/row-ids.js';
import { tableRows } from '../../files/rows/table-rows.js';
import { valueOfCell } from '../../files/spreadsheet-cell.js';
import type { Outcome } from '../../store/validation/outcomes.js';
import type { ConvertedValues } from './converted-values.js';
import type { Mistake } from './mistakes.js';

/** Column names. Undefined means the default name; `at` is optional by default. */
export interface OutcomeColumns {
  readonly crmId: string | undefined;
  readonly converted: string | undefined;
  readonly at: string | undefined;
}

/** One row of the file: its outcome or its mistake, or it is passed over for its value. */
export type OutcomeRow = { readonly line: number; readonly endByte: number } & (
  | ReadOutcome
  | { readonly mistake: Mistake }
  | { readonly isIgnored: true }
);

export interface ReadOutcome {
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

export interface OutcomeReading {
  readonly columns: OutcomeColumns;
  readonly values: ConvertedValues;
  /** The time of the import. It dates rows without an `at` column, and unconverted leads without a date. */
  readonly now: Date;
  /** Whether a date replaces an earlier one of the same conversion. */
  readonly correctsDates: boolean;
  /** Most rows, blank ones included; without it, any number. */
  readonly maxRows?: number;
  /** Undefined for a whole file. */
  readonly part?: FilePart | undefined;
  /** How messages write the name of an option. */
  readonly optionText: (name: string) => string;
  readonly onNotice: (notice: string) => unknown;
}

export const formatAdvice = { csv: 'Send it as a CSV', jsonl: 'Outcomes are read from a CSV alone' } as const;

/**
 * Reads the rows of a CSV with a header line and skips empty rows.
 * @param pieces UTF-8 without byte order mark
 * @throws InputFault when a column is missing or the file cannot be read; errors of the pieces
 */
export async function* outcomeRows(pieces: AsyncIterable<Buffer>, reading: OutcomeReading): AsyncGenerator<OutcomeRow> {
  const { columns, maxRows = Number.POSITIVE_INFINITY, part, onNotice } = reading;
  let indexes: ColumnIndexes | undefined;
  const rules = {
    ...{ maxRows, part, onNotice, formatAdvice },
    canBeHeader: hasNeeded(columns),
    readHeader: async (names: readonly string[], start: HeaderStart) => {
      indexes = await columnIndexes(names, start, reading);
      return indexes.crmId;
    },
  };
  for await (const { cells, line, endByte, isEmpty, problem } of tableRows(pieces, rules)) {
    if (isEmpty || indexes === undefined) continue;
    const row = problem === undefined ? readRow(cells, indexes, reading) : { mistake: { what: problem } };
    yield { line, endByte, ...row };
  }
}

/** Whether some names are those of the columns that a file must have. */
export function hasNeeded(columns: OutcomeColumns): CanBeHeader {
  const needed = requiredNames(columns).map(foldFieldName);
  return (names) => {
    const folded = new Set(names.map(foldFieldName));
    return needed.some((name) => folded.has(name));
  };
}

const requiredNames = ({ crmId = 'crm_id', converted = 'converted' }: OutcomeColumns) => [crmId, converted] as const;

/** The columns of a file. @throws InputFault for one that is missing, or that several can be */
export async function columnIndexes(
  header: readonly string[],
  { line, delimiter }: HeaderStart,
  { columns, optionText }: Pick<OutcomeReading, 'columns' | 'optionText'>,
): Promise<ColumnIndexes> {
  const names = header.map((name) => name.trim());
  const indexOf = (wanted: string, purpose: string) => columnOf(names, { wanted, line, purpose });
  const required = async (wanted: string, name: string): Promise<number> => {
    const option = optionText(name);
    const index = await indexOf(wanted, name === 'crm_id' ? name : `column of ${option}`);
    if (index !== undefined) return index;
    const own = names.filter((each) => each !== '');
    throw noSuchColumn(`column ${shownName(wanted)}. Name the column with ${option}`, { names: own, line, delimiter });
  };
  const [crmId, converted] = requiredNames(columns);
  return {
    crmId: await required(crmId, 'crm_id'),
    converted: await required(converted, 'converted'),
    at:
      columns.at === undefined
        ? await indexOf('at', `column of ${optionText('at')}`)
        : await required(columns.at, 'at'),
    names,
  };
}

function readRow(
  record: readonly string[],
  indexes: ColumnIndexes,
  reading: Pick<OutcomeReading, 'values' | 'now' | 'correctsDates'>,
): ReadOutcome | { readonly mistake: Mistake } | { readonly isIgnored: true } {
  const { values, now, correctsDates } = reading;
  const value = valueOfCell(record[indexes.converted] ?? '').trim();
  if (values.ignores(value)) return { isIgnored: true };
  const cell = valueOfCell(record[indexes.crmId] ?? '');
  const name = (index: number): string => `"${indexes.names[index] ?? ''}"`;
  const read = idOfText(cell);
  if ('problem' in read) return { mistake: { what: `${name(indexes.crmId)}: ${read.problem}` } };
  const { id } = read;
  if (id === null && cell === '') return { mistake: { what: `${name(indexes.crmId)} is empty` } };
  if (id === null) return { mistake: { what: `${name(indexes.crmId)} names no lead`, value: cell } };
  const crmId = storedCrmId(id);
  const converted = values.read(value);
  if (converted === undefined) return { mistake: { what: `${name(indexes.converted)} ${values.rule}`, value } };
  const text = indexes.at === undefined ? '' : valueOfCell(record[indexes.at] ?? '').trim();
  const date = outcomeDate(text, { converted, nowMs: now.getTime() });
  if ('at' in date) {
    const lacksDate = indexes.at !== undefined && date.isUndated === true;
    const corrected = correctsDates && date.isUndated !== true ? { isCorrected: true as const } : {};
    return { outcome: { crmId, converted, ...date, ...corrected }, sentId: id, value, lacksDate };
  }
  const must =
    date.problem === 'no_date'
      ? 'must be a date such as 2026-11-21 or 2026-11-21T14:05:00Z'
      : `must be at most ${maxDaysAhead} days in the future for a converted lead`;
  return { mistake: { what: `${name(indexes.at ?? 0)} ${must}`, value: text } };
}
