import { isoInstant, isTooFarAhead, maxDaysAhead } from '../../../shared/contract/dates.js';
import { foldFieldName, isCrmId, maxCrmId } from '../../../shared/contract/texts.js';
import { textOfCell } from '../../../shared/files/spreadsheet-cell.js';
import type { Outcome } from '../../../shared/store/validation/outcomes.js';
import { csvRows, emptyCsv } from '../score/input/csv-records.js';
import { badInput, type InputFile } from '../score/input/input-file.js';
import type { ConvertedValues } from './converted-values.js';
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
  /** The cell of the converted column. */
  readonly value: string;
}

interface Places {
  readonly crmId: number;
  readonly converted: number;
  readonly at: number | undefined;
  readonly names: readonly string[];
}

/**
 * Reads the rows of a CSV with a header line and skips blank rows.
 * @param options `now` is the import time. It dates rows without an `at` column, and unconverted leads without a date
 * @throws CliError when a column is missing or the file cannot be read
 */
export async function* outcomeRows(
  input: InputFile,
  reading: { readonly columns: OutcomeColumns; readonly values: ConvertedValues; readonly now: Date },
): AsyncGenerator<OutcomeRow> {
  let places: Places | undefined;
  for await (const { cells, line, endByte } of csvRows(input)) {
    if (cells.every((cell) => cell.trim() === '')) continue;
    if (places === undefined) places = placesOf(cells, input.name, reading.columns);
    else yield { line, endByte, ...readRow(cells, places, reading) };
  }
  if (places === undefined) throw emptyCsv(input);
}

function placesOf(header: readonly string[], fileName: string, columns: OutcomeColumns): Places {
  const names = header.map((name) => name.trim());
  const folded = names.map(foldFieldName);
  const placeOf = (name: string): number | undefined => {
    const exact = names.indexOf(name);
    const place = exact === -1 ? folded.indexOf(foldFieldName(name)) : exact;
    return place === -1 ? undefined : place;
  };
  const required = (name: string, option: string): number => {
    const place = placeOf(name);
    if (place !== undefined) return place;
    const shown = names.filter((each) => each !== '').slice(0, 12);
    const more = names.length > shown.length ? ', …' : '';
    throw badInput(
      `${fileName} has no column "${name}". Name the column with ${option}. Existing columns: ${shown.map((each) => JSON.stringify(each)).join(', ')}${more}`,
    );
  };
  return {
    crmId: required(columns.crmId ?? 'crm_id', '--crm-id'),
    converted: required(columns.converted ?? 'converted', '--converted'),
    at: columns.at === undefined ? placeOf('at') : required(columns.at, '--at'),
    names,
  };
}

function readRow(
  record: readonly string[],
  places: Places,
  { values, now }: { readonly values: ConvertedValues; readonly now: Date },
): ReadOutcome | { readonly mistake: Mistake } {
  const crmId = textOfCell(record[places.crmId] ?? '');
  const name = (place: number): string => `"${places.names[place] ?? ''}"`;
  if (crmId === '') return { mistake: { what: `${name(places.crmId)} is empty` } };
  if (!isCrmId(crmId)) {
    const must = `at most ${maxCrmId} characters, none of them NUL`;
    return { mistake: { what: `${name(places.crmId)} is not a valid crm_id (${must})` } };
  }
  const value = (record[places.converted] ?? '').trim();
  const converted = values.read(value);
  if (converted === undefined) return { mistake: { what: `${name(places.converted)} ${values.rule}`, value } };
  const text = places.at === undefined ? '' : (record[places.at] ?? '').trim();
  if (text === '') {
    if (places.at === undefined || !converted)
      return { outcome: { crmId, converted, at: now, isUndated: true }, value };
    return { mistake: { what: `${name(places.at)} is empty, but the lead has converted` } };
  }
  const at = isoInstant(text);
  if (at !== undefined && !isTooFarAhead({ converted, at }, now.getTime()))
    return { outcome: { crmId, converted, at }, value };
  const must =
    at === undefined
      ? 'must be a date such as 2026-11-21 or 2026-11-21T14:05:00Z'
      : `must be at most ${maxDaysAhead} days in the future for a converted lead`;
  return { mistake: { what: `${name(places.at ?? 0)} ${must}`, value: text } };
}
