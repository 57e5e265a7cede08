import { foldFieldName, longestForm, shortenedText } from '../../contract/texts.js';

/** Rows after the header in which a second header, units or types may stand. */
const headRows = 2;

/**
 * Whether a row is the header once more: files that were joined have it in the middle. Below the header, names in
 * another form count too, such as those of an API.
 * @param number of the row, from 1 without the header
 */
export function repeatsHeader(cells: readonly string[], names: readonly string[], number: number): boolean {
  if (cells.length <= names.length && beginsAsHeader(cells, names) && areBlank(names, cells.length)) return true;
  if (number > headRows) return false;
  const filled = cells.flatMap((cell, at) => (cell.trim() === '' ? [] : [{ cell, name: names[at] ?? '' }]));
  return filled.length > 1 && filled.every(({ cell, name }) => isFormOf(name, cell));
}

const isFormOf = (name: string, cell: string): boolean =>
  cell.length <= longestForm(name) && foldFieldName(cell) === foldFieldName(name);

/** Whether some first cells of a row are those of the header, or may be another form of them. */
export const mayRepeatHeader = (cells: readonly string[], names: readonly string[], number: number): boolean =>
  number <= headRows || beginsAsHeader(cells, names);

function beginsAsHeader(cells: readonly string[], names: readonly string[]): boolean {
  for (let at = 0; at < cells.length; at += 1) {
    const cell = cells[at] as string;
    const name = names[at] ?? '';
    // Nearly all rows end here: this is called for each.
    if (cell !== name && cell.charCodeAt(0) > 0x20 && name.charCodeAt(0) !== cell.charCodeAt(0)) return false;
    if (cell.trim() !== name.trim()) return false;
  }
  return true;
}

const areBlank = (names: readonly string[], from: number): boolean =>
  names.every((name, at) => at < from || name.trim() === '');

const currencies =
  'aed|ars|aud|bgn|brl|cad|chf|clp|cny|cop|czk|dkk|eur|gbp|hkd|huf|idr|ils|inr|isk|jpy|krw|mxn|myr|nok|nzd|php|pln|ron|rub|sar|sek|sgd|thb|try|twd|uah|usd|vnd|zar';
const words = [
  ...['yes/no', 'y/n', 'true/false', '0/1', 'ja/nein', 'oui/non', 'si/no', 'percent', 'prozent', 'seconds', 'minutes'],
  ...[
    'hours',
    'days',
    'weeks',
    'months',
    'years',
    'stunden',
    'tage',
    'monate',
    'jahre',
    'text',
    'string',
    'str',
    'date',
  ],
  ...['datetime', 'date/time', 'timestamp', 'time', 'datum', 'number', 'numeric', 'integer', 'int', 'bigint', 'float'],
  ...['double', 'decimal', 'currency', 'boolean', 'bool', 'checkbox', 'picklist', 'multipicklist', 'lookup', 'email'],
  ...[
    'phone',
    'url',
    'uuid',
    'varchar',
    'char',
    'nvarchar',
    'enum',
    'json',
    'zahl',
    'auswahlliste',
    'count',
    'qty',
    'pcs',
  ],
  ...['required', 'optional', 'k', 'm', 'mio', 'tsd', 'teur', 'keur', 'meur', 'kusd', 'musd'],
];
const units = new RegExp(
  `^(?:(?:in |k|m|mio\\.? |tsd\\.? )?(?:${currencies}|[\\p{Sc}%#])(?: ?[km])?|(?:${words.join('|')})(?:\\s*\\([\\d, ]*\\))?|[ymdhst]+[-./ :][ymdhst]+(?:[-./ :]{1,2}[ymdhst]+)*)$`,
  'iu',
);
const brackets = /^[[(<{](.*)[\])>}]$/;
// A cell may have a megabyte: no two parts beside each other take the same characters.
const dashes = /^[\s|+:]*[-=_—–]{2}[-=_—–\s|+:]*$/;

/** Whether a line of dashes may begin with a character. */
const mayBeDash = (code: number): boolean =>
  code < 0x30 ? code !== 0x22 : code === 0x3d || code === 0x5f || code === 0x7c || code === 0x2013 || code === 0x2014;

/**
 * Why a row is no lead, although it has cells: it has units or types, or dashes alone.
 * @param number of the row, from 1 without the header
 */
export function oddRowProblem(
  cells: readonly string[],
  { number, idColumn }: { readonly number: number; readonly idColumn: number | undefined },
): string | undefined {
  // Nearly all rows end here: this is called for each.
  if (number > headRows && !mayBeDash((cells[0] ?? '').charCodeAt(0))) {
    if (cells[0] !== '' || !mayBeDash((cells.find((cell) => cell !== '') ?? 'a').charCodeAt(0))) return undefined;
  }
  const filled = cells.map((cell) => cell.trim()).filter((cell) => cell !== '');
  if (filled.length === 0) return undefined;
  if (filled.length > 1 && filled.every((cell) => dashes.test(cell)))
    return 'The row has only dashes, as between a header and its rows. Delete it';
  if (number > headRows) return undefined;
  const id = idColumn === undefined ? undefined : (cells[idColumn] ?? '').trim();
  const isUnit = (cell: string): boolean => units.test(brackets.exec(cell)?.[1]?.trim() ?? cell);
  if (id === undefined ? filled.length < 2 : id !== '' && !isUnit(id)) return undefined;
  if (!filled.every(isUnit)) return undefined;
  return `The row has units or types of columns, such as ${JSON.stringify(shortenedText(filled[0] ?? '', 40))}. Delete it`;
}
