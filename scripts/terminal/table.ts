import Table from 'cli-table3';
import { wrapText } from './wrap-text.js';

/** One column of a table. */
export interface TableColumn {
  readonly name: string;
  /** Numbers are right-aligned, and never cut: part of a number is another number. Left by default. */
  readonly align?: 'left' | 'right';
  /** Never wrapped, even when the line becomes too long: identifiers are there to be copied. */
  readonly whole?: boolean;
}

export interface TableOptions {
  /** Characters of a line at most: long cells of the widest columns are wrapped. 80 by default. */
  readonly width?: number;
}

/** Space between columns. */
const gap = 2;
const leastColumnWidth = 8;

const bare = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: ' '.repeat(gap),
} as const;

/**
 * A table as plain text: names, a rule, one line a row (more where a cell had to be wrapped). No trailing spaces.
 * @param columns from left to right
 * @param rows one text for each column
 */
export function renderTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  { width = 80 }: TableOptions = {},
): string {
  const widths = fittedWidths(columns, rows, width);
  const table = new Table({
    chars: bare,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
    colWidths: widths,
    colAligns: columns.map((column) => column.align ?? 'left'),
    wordWrap: true,
    wrapOnWordBoundary: true,
  });
  table.push(
    columns.map((column) => column.name),
    widths.map((columnWidth) => '─'.repeat(columnWidth)),
  );
  for (const row of rows) table.push(columns.map((_, index) => row[index] ?? ''));
  return withoutTrailingSpaces(table.toString());
}

/**
 * Names and values under each other, the values aligned, broken at spaces where the line would be too long.
 * @param fields from top to bottom; those without a value are left out
 */
export function renderFields(
  fields: readonly (readonly [name: string, value: string | undefined])[],
  { width = 80 }: TableOptions = {},
): string {
  const nameWidth = Math.max(0, ...fields.map(([name]) => name.length));
  return fields
    .flatMap(([name, value]) => {
      if (value === undefined) return [];
      const [first = '', ...others] = wrapText(value, width - nameWidth - gap).split('\n');
      return [
        `${name.padEnd(nameWidth)}${' '.repeat(gap)}${first}`,
        ...others.map((line) => ' '.repeat(nameWidth + gap) + line),
      ];
    })
    .map((line) => line.trimEnd())
    .join('\n');
}

/** Each column as wide as its widest cell; while that is too wide for the line, the widest columns give way. */
function fittedWidths(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  width: number,
): number[] {
  const widths = columns.map((column, index) =>
    Math.max(column.name.length, ...rows.map((row) => longestLine(row[index] ?? ''))),
  );
  const least = columns.map((column, index) =>
    leastWidth(
      column,
      rows.map((row) => row[index] ?? ''),
    ),
  );
  let excess = widths.reduce((sum, each) => sum + each, 0) + gap * (columns.length - 1) - width;
  while (excess > 0) {
    const yielding = widths.map((each, index) => (each > (least[index] ?? 0) ? each : 0));
    const widest = Math.max(...yielding);
    if (widest === 0) break;
    widths[yielding.indexOf(widest)] = widest - 1;
    excess -= 1;
  }
  return widths;
}

/** Down to which a column gives way: one of numbers, so far that its name can be wrapped. */
function leastWidth({ name, align, whole }: TableColumn, cells: readonly string[]): number {
  if (whole === true) return Number.POSITIVE_INFINITY;
  return align === 'right' ? Math.max(...[...name.split(' '), ...cells].map(longestLine)) : leastColumnWidth;
}

const longestLine = (text: string): number =>
  text.split('\n').reduce((longest, line) => Math.max(longest, displayWidth(line)), 0);

/** Columns that a text takes on a terminal: East Asian characters and emoji take two. */
const displayWidth = (line: string): number =>
  [...line].reduce((sum, character) => sum + (wideCharacter.test(character) ? 2 : 1), 0);

const wideCharacter =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

const withoutTrailingSpaces = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
