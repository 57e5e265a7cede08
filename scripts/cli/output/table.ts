import Table from 'cli-table3';
import { wrapText } from './wrap-text.js';

export interface TableColumn {
  readonly name: string;
  /** Right-aligned cells are never cut: part of a number is a different number. Left by default. */
  readonly align?: 'left' | 'right';
  /** Never wrapped, even when the line becomes too long: a reader must be able to copy identifiers. */
  readonly whole?: boolean;
}

/** Columns with the text of each cell. The kind is `align: 'right'` or `whole: true` of `TableColumn`. */
export type Columns<Row> = readonly (readonly [name: string, cell: (row: Row) => string, kind?: 'right' | 'whole'])[];

/**
 * A table of rows, as `renderTable`.
 * @param options.none the text without rows; by default the names alone
 */
export function tableOf<Row>(
  rows: readonly Row[],
  columns: Columns<Row>,
  { none, ...options }: TableOptions & { readonly none?: string } = {},
): string {
  if (rows.length === 0 && none !== undefined) return none;
  return renderTable(
    columns.map(([name, , kind]) => ({ name, align: kind === 'right' ? kind : 'left', whole: kind === 'whole' })),
    rows.map((row) => columns.map(([, cell]) => cell(row))),
    options,
  );
}

export interface TableOptions {
  /** Maximum characters of a line, 80 by default: the widest columns wrap their cells. */
  readonly width?: number;
}

/** Space between columns. */
const gap = 2;
const minColumnWidth = 8;

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
 * A table as plain text: names, a rule, one line a row (more when a cell wraps). No trailing spaces.
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
 * One name and value a line, with aligned values that wrap at spaces.
 * @param fields from top to bottom; a field without a value is left out
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

/** Each column is as wide as its widest cell. If the line is too long, the widest columns shrink first. */
function fittedWidths(columns: readonly TableColumn[], rows: readonly (readonly string[])[], width: number): number[] {
  const widths = columns.map((column, index) =>
    Math.max(column.name.length, ...rows.map((row) => maxLineWidth(row[index] ?? ''))),
  );
  const minWidths = columns.map((column, index) =>
    minWidth(
      column,
      rows.map((row) => row[index] ?? ''),
    ),
  );
  let excess = widths.reduce((sum, each) => sum + each, 0) + gap * (columns.length - 1) - width;
  while (excess > 0) {
    const shrinkable = widths.map((each, index) => (each > (minWidths[index] ?? 0) ? each : 0));
    const widest = Math.max(...shrinkable);
    if (widest === 0) break;
    widths[shrinkable.indexOf(widest)] = widest - 1;
    excess -= 1;
  }
  return widths;
}

/** A column of numbers shrinks only until its name must wrap. */
function minWidth({ name, align, whole }: TableColumn, cells: readonly string[]): number {
  if (whole === true) return Number.POSITIVE_INFINITY;
  return align === 'right' ? Math.max(...[...name.split(' '), ...cells].map(maxLineWidth)) : minColumnWidth;
}

const maxLineWidth = (text: string): number =>
  text.split('\n').reduce((width, line) => Math.max(width, displayWidth(line)), 0);

/** Terminal columns of a text: East Asian characters and emoji take two. */
const displayWidth = (line: string): number =>
  [...line].reduce((sum, character) => sum + (wideCharacter.test(character) ? 2 : 1), 0);

const wideCharacter =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

const withoutTrailingSpaces = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
