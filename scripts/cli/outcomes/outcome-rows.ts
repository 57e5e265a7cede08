import { isCrmId, longestCrmId } from '../../../shared/crm-id.js';
import { foldFieldName } from '../../../shared/field-name.js';
import { isoInstant } from '../../../shared/iso-instant.js';
import { isTooFarAhead, mostDaysAhead } from '../../../shared/outcome-date.js';
import type { Outcome } from '../../../shared/store/outcomes.js';
import { csvRows, emptyCsv } from '../score/csv-rows.js';
import { badInput, type InputFile } from '../score/input-file.js';

/** Which columns say what became of a lead; undefined: the usual name, `at` only when there is such a column. */
export interface OutcomeColumns {
  readonly crmId: string | undefined;
  readonly converted: string | undefined;
  readonly at: string | undefined;
}

/** One row of the file: what it says, or why it says nothing. */
export type OutcomeRow = { readonly line: number; readonly endByte: number } & (
  | { readonly outcome: Outcome }
  | { readonly problem: string }
);

const yes: ReadonlySet<string> = new Set(['1', 'true', 'yes', 'y', 't', 'on', 'won', 'converted']);
const no: ReadonlySet<string> = new Set(['0', 'false', 'no', 'n', 'f', 'off', 'lost', 'open']);

interface Places {
  readonly crmId: number;
  readonly converted: number;
  readonly at: number | undefined;
  readonly names: readonly string[];
}

/**
 * The rows of a CSV with a header line, blank ones left out.
 * @param options `now`: the time of the import; a lead is taken to have converted then where the file has no such column
 *   or, for a lead that has not converted, no date
 * @throws CliError when a column is missing, or naming where the file cannot be read
 */
export async function* outcomeRows(
  input: InputFile,
  { columns, now }: { readonly columns: OutcomeColumns; readonly now: Date },
): AsyncGenerator<OutcomeRow> {
  let places: Places | undefined;
  for await (const { cells, line, endByte } of csvRows(input)) {
    if (cells.every((cell) => cell.trim() === '')) continue;
    if (places === undefined) places = placesOf(cells, input.name, columns);
    else yield { line, endByte, ...readRow(cells, places, now) };
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
      `${fileName} has no column "${name}": name the one to use with ${option}. It has: ${shown.map((each) => `"${each}"`).join(', ')}${more}`,
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
  now: Date,
): { readonly outcome: Outcome } | { readonly problem: string } {
  const crmId = record[places.crmId] ?? '';
  const name = (place: number): string => `"${places.names[place] ?? ''}"`;
  if (crmId === '') return { problem: `${name(places.crmId)} is empty` };
  if (!isCrmId(crmId))
    return {
      problem: `${name(places.crmId)} is no crm_id: at most ${longestCrmId} characters, none of them NUL`,
    };
  const word = (record[places.converted] ?? '').trim().toLowerCase();
  const converted = yes.has(word) ? true : no.has(word) ? false : undefined;
  if (converted === undefined)
    return { problem: `${name(places.converted)} must be 1 or 0, yes or no, but is "${word.slice(0, 40)}"` };
  const text = places.at === undefined ? '' : (record[places.at] ?? '').trim();
  if (text === '') {
    if (places.at === undefined || !converted)
      return { outcome: { crmId, converted, at: now, isUndated: true } };
    return { problem: `${name(places.at)} is empty, but the lead has converted` };
  }
  const at = isoInstant(text);
  if (at !== undefined && !isTooFarAhead({ converted, at }, now.getTime()))
    return { outcome: { crmId, converted, at } };
  const must =
    at === undefined
      ? 'must be a date such as 2026-11-21 or 2026-11-21T14:05:00Z'
      : `must not be more than ${mostDaysAhead} days ahead for a lead that has converted`;
  return { problem: `${name(places.at ?? 0)} ${must}, but is "${text.slice(0, 40)}"` };
}
