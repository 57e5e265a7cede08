import { countText } from '../../contract/figures.js';
import { shortenedText } from '../../contract/texts.js';

export interface Mistake {
  /** The violated rule, which identifies the mistake. */
  readonly what: string;
  /** Content of the cell, if it helps. */
  readonly value?: string;
}

/** All rows with the same mistake. */
export interface MistakeGroup {
  readonly what: string;
  readonly rows: number;
  /** The first rows, at most `maxRowsListed`. */
  readonly first: readonly { readonly line: number; readonly value?: string }[];
  /** Distinct contents of their cells, at most `maxValuesListed + 1`. */
  readonly values: readonly string[];
}

/** Up to this count each row gets its own sentence; more rows share one. */
const maxRowsListed = 3;
const maxValuesListed = 5;
const maxValueLength = 40;

/** Adds a row to the group of its mistake. */
export function withMistake(
  groups: readonly MistakeGroup[],
  { what, value }: Mistake,
  line: number,
): readonly MistakeGroup[] {
  const found = groups.find((group) => group.what === what) ?? { what, rows: 0, first: [], values: [] };
  const shown = value === undefined ? undefined : shortenedText(value, maxValueLength);
  const isNew = shown !== undefined && !found.values.includes(shown) && found.values.length <= maxValuesListed;
  const row = shown === undefined ? { line } : { line, value: shown };
  const group = {
    what,
    rows: found.rows + 1,
    first: found.first.length < maxRowsListed ? [...found.first, row] : found.first,
    values: isNew ? [...found.values, shown] : found.values,
  };
  return [...groups.filter((each) => each.what !== what), group];
}

/** Describes the mistakes in line order, one sentence each. */
export function mistakeSentences(groups: readonly MistakeGroup[], fileName: string): string[] {
  return groups
    .flatMap(({ what, rows, first, values }) => {
      const line = first[0]?.line ?? 0;
      const where = `${fileName}, ${countText(rows)} rows, first in line ${line}`;
      return rows > maxRowsListed
        ? [{ line, text: `${where}: ${what}${butIs(values)}` }]
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
  if (values.length > maxValuesListed)
    return `, but is ${quoted.slice(0, maxValuesListed).join(', ')} or another value`;
  const last = quoted.at(-1) ?? '';
  return `, but is ${quoted.length === 1 ? last : `${quoted.slice(0, -1).join(', ')} or ${last}`}`;
}
