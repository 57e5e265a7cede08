import { CsvRows } from '../../../shared/files/csv-rows.js';
import type { FormatAdvice } from '../../../shared/files/other-format.js';
import type { CanBeHeader } from '../../../shared/files/reading/csv-start.js';
import { FileRecords, type HeaderStart } from '../../../shared/files/reading/file-records.js';
import { InputFault } from '../../../shared/files/reading/input-fault.js';
import { textOf } from '../../../shared/files/reading/record-ends.js';
import { RowSurplus } from '../../../shared/files/row-surplus.js';
import { DecimalPoints } from '../../../shared/files/rows/decimal-points.js';
import { FooterWatch, footerNotice, type RowKind } from '../../../shared/files/rows/footer-watch.js';
import { oddRowProblem } from '../../../shared/files/rows/odd-rows.js';
import { RowKinds } from '../../../shared/files/rows/row-kinds.js';
import { ShortRows } from '../../../shared/files/short-rows.js';
import type { KnownFields } from '../../../shared/messages/field-slots.js';
import { formatAdvice, type InputFile, withFileName } from './input-file.js';

/** A row of a CSV, without the header. */
export interface TableRow {
  /** Its cells, as many as the header has; none for a row with white space alone or the header once more. */
  readonly cells: readonly string[];
  /** First line of the row, from 1. */
  readonly line: number;
  /** Bytes of the inflated file up to the end of the row. */
  readonly endByte: number;
  /** Whether it has only white space, repeats the header, or belongs to the footer of a report. */
  readonly isEmpty: boolean;
  /** Why its cells do not fit the header. */
  readonly problem: string | undefined;
}

export interface TableRules {
  /** @returns the index of the column with the crm_id */
  readonly readHeader: (names: readonly string[], start: HeaderStart) => Promise<number | undefined>;
  readonly canBeHeader: CanBeHeader | undefined;
  /** For files of another format. */
  readonly formatAdvice?: FormatAdvice;
  /** The fields of the model, if they are known. */
  readonly fields?: KnownFields | undefined;
  readonly onNotice?: ((notice: string) => unknown) | undefined;
}

/** A call takes at most 8 MiB. */
const limits = { headerBytes: 1024 * 1024, rowBytes: 8 * 1024 * 1024 } as const;

/**
 * Reads the rows of a CSV file: the delimiter is detected, and quoted cells may contain line breaks.
 * @throws CliError that names the position of the fault, also for a file without rows
 */
export const tableRows = (input: InputFile, rules: TableRules): AsyncGenerator<TableRow> =>
  withFileName(input, readRows(input, rules));

async function* readRows(input: InputFile, rules: TableRules): AsyncGenerator<TableRow> {
  let header: Header = { columns: 0, delimiter: '', idColumn: undefined };
  let kinds = new RowKinds({ names: [], idColumn: undefined });
  let points = new DecimalPoints([], []);
  const records = new FileRecords({
    format: 'csv',
    limits,
    canBeHeader: rules.canBeHeader,
    formatAdvice: rules.formatAdvice ?? formatAdvice,
    readHeader: async (names, { line, delimiter }) => {
      const idColumn = await rules.readHeader(names, { line, delimiter });
      header = { columns: names.length, delimiter, idColumn };
      kinds = new RowKinds({ names, idColumn, fields: rules.fields });
      points = new DecimalPoints(names, kinds.numberColumns);
      return idColumn;
    },
  });
  const watch = new FooterWatch();
  /** Rows that are perhaps a footer, and rows whose surplus cells are perhaps the form of the file. */
  let last: HeldRow[] = [];
  let held: HeldRow[] = [];
  let count = 0;
  let hasContent = false;
  const short = new ShortRows();
  const surplusCells = new RowSurplus();
  const noted = (row: HeldRow): TableRow => {
    hasContent ||= !row.isEmpty;
    if (row.isShort) short.add(row.line);
    return row.surplus > 0 && row.surplus === surplusCells.common ? { ...row, problem: row.problemBeside } : row;
  };
  const settle = (row: HeldRow): void => {
    if (!row.isEmpty) surplusCells.seeLater(row.surplus, row.line);
    held.push(row);
  };
  for await (const piece of records.read(input.pieces())) {
    const { found, from, offset } = piece;
    const { text, line: firstLine } = textOf(piece);
    const { delimiter, columns } = header;
    const looksAtPoints = points.looksAt(text, { delimiter, row: count + 1 });
    const surplus = surplusCells.isOpen ? 0 : surplusCells.common;
    const rows = new CsvRows(text, { delimiter, maxCells: columns, firstLine, surplus });
    for (let index = from; rows.next(); index += 1) {
      count += 1;
      const kind = kinds.of(rows, count);
      const row = rowOf(rows, { header, number: count, kind, endByte: offset + (found.ends[index] as number) });
      if (header.columns > 1) watch.see(kind, { row: count, line: row.line, text: row.cells[0] ?? '' });
      if (looksAtPoints && !row.isEmpty && !points.isOver) points.see(rows.cells);
      if (watch.isOpen) {
        last.push(row);
        continue;
      }
      for (const each of last) settle(each);
      last = [];
      settle(row);
      if (surplusCells.isOpen) continue;
      for (const each of held) yield noted(each);
      held = [];
    }
  }
  if (!records.hasHeader)
    throw new InputFault('The file has no header: it is empty. Begin it with a line that names the columns');
  const { footer } = watch;
  for (const row of last) {
    if (footer === undefined) settle(row);
    else held.push({ ...row, isEmpty: true, isShort: false });
  }
  for (const row of held) yield noted(row);
  if (!hasContent) throw new InputFault(`The file has a header, but no rows${count === 0 ? '' : ' with content'}`);
  if (footer !== undefined) rules.onNotice?.(footerNotice(footer));
  for (const notice of [watch.totalsNotice, kinds.notice, short.notice, surplusCells.notice, points.notice])
    if (notice !== undefined) rules.onNotice?.(notice);
}

interface HeldRow extends TableRow {
  readonly isShort: boolean;
  /** Empty cells after the columns of the header, and the problem of the row beside them. */
  readonly surplus: number;
  readonly problemBeside: string | undefined;
}

interface Header {
  readonly columns: number;
  readonly delimiter: string;
  readonly idColumn: number | undefined;
}

function rowOf(
  rows: CsvRows,
  of: { readonly header: Header; readonly number: number; readonly kind: RowKind; readonly endByte: number },
): HeldRow {
  const { header, number, kind, endByte } = of;
  const { cells, line, count, surplus } = rows;
  const isEmpty = kind === 'blank' || kind === 'header';
  const whole = isEmpty ? [] : [...cells];
  while (!isEmpty && whole.length < header.columns) whole.push('');
  const isShort = !isEmpty && count < header.columns;
  const odd = isEmpty ? undefined : oddRowProblem(whole, { number, idColumn: header.idColumn });
  const problem = isEmpty ? undefined : (rows.problem ?? odd);
  const problemBeside = problem === undefined || surplus === 0 ? problem : (rows.problemWith(surplus) ?? odd);
  return { cells: whole, line, endByte, isEmpty, problem, problemBeside, isShort, surplus };
}
