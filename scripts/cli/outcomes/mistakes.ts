import { readableCount } from '../../terminal/readable-numbers.js';

/** What is wrong with a row. */
export interface Mistake {
  /** What the cell must be, the same for all rows with this mistake. */
  readonly what: string;
  /** What the cell is, where that says more. */
  readonly value?: string;
}

/** All rows with the same mistake. */
export interface MistakeGroup {
  readonly what: string;
  readonly rows: number;
  /** The first of them, `rowsTold` at most. */
  readonly first: readonly { readonly line: number; readonly value?: string }[];
  /** What their cells are, each once; `valuesTold` and one more at most. */
  readonly values: readonly string[];
}

/** So many rows with the same mistake are told one by one; more of them in one sentence. */
const rowsTold = 3;
const valuesTold = 5;
const longestValue = 40;

/** Adds a row to those with the same mistake. */
export function withMistake(
  groups: readonly MistakeGroup[],
  { what, value }: Mistake,
  line: number,
): readonly MistakeGroup[] {
  const found = groups.find((group) => group.what === what) ?? { what, rows: 0, first: [], values: [] };
  const shown = value === undefined ? undefined : shortened(value);
  const isNew = shown !== undefined && !found.values.includes(shown) && found.values.length <= valuesTold;
  const row = shown === undefined ? { line } : { line, value: shown };
  const group = {
    what,
    rows: found.rows + 1,
    first: found.first.length < rowsTold ? [...found.first, row] : found.first,
    values: isNew ? [...found.values, shown] : found.values,
  };
  return [...groups.filter((each) => each.what !== what), group];
}

/** What is wrong with a file's rows, a sentence each, in the order of the lines. */
export function mistakeSentences(groups: readonly MistakeGroup[], fileName: string): string[] {
  return groups
    .flatMap(({ what, rows, first, values }) => {
      const line = first[0]?.line ?? 0;
      const place = `${fileName}, ${readableCount(rows)} rows, first in line ${line}`;
      return rows > rowsTold
        ? [{ line, text: `${place}: ${what}${butIs(values)}` }]
        : first.map((row) => ({
            line: row.line,
            text: `${fileName}, line ${row.line}: ${what}${butIs(row.value === undefined ? [] : [row.value])}`,
          }));
    })
    .sort((one, other) => one.line - other.line)
    .map(({ text }) => text);
}

function butIs(values: readonly string[]): string {
  if (values.length === 0) return '';
  const quoted = values.map((value) => (value === '' ? 'empty' : JSON.stringify(value)));
  if (values.length > valuesTold) return `, but is ${quoted.slice(0, valuesTold).join(', ')} or another`;
  const last = quoted.at(-1) ?? '';
  return `, but is ${quoted.length === 1 ? last : `${quoted.slice(0, -1).join(', ')} or ${last}`}`;
}

const shortened = (value: string): string =>
  value.length > longestValue ? `${value.slice(0, longestValue - 1)}…` : value;
