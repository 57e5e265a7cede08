import { countText } from '../../contract/figures.js';
import { CsvRows } from '../csv-rows.js';
import type { FormatAdvice } from '../other-format.js';
import type { CanBeHeader } from '../reading/csv-start.js';
import { type FilePart, FileRecords, type HeaderStart, Pace } from '../reading/file-records.js';
import { InputFault } from '../reading/input-fault.js';
import { textOf } from '../reading/record-ends.js';
import { RowSurplus } from '../row-surplus.js';
import { ShortRows } from '../short-rows.js';
import { DecimalPoints } from './decimal-points.js';
import { FooterWatch, footerNotice, type RowKind } from './footer-watch.js';
import { oddRowProblem } from './odd-rows.js';
import { RowKinds } from './row-kinds.js';

/** A row of a CSV, without the header. */
export interface TableRow {
  /** Its cells, as many as the header has; none for a row with white space alone or the header once more. */
  readonly cells: readonly string[];
  /** First line of the row, from 1. */
  readonly line: number;
  /** Bytes of the text up to the end of the row. */
  readonly endByte: number;
  /** Whether it has only white space, repeats the header, or belongs to the footer of a report. */
  readonly isEmpty: boolean;
  /** Why its cells do not fit the header. */
  readonly problem: string | undefined;
}

export interface TableRules {
  /** @returns the index of the column with the crm_id */
  readonly readHeader: (names: readonly string[], start: HeaderStart) => Promise<number | undefined>;
  /** Undefined where no column is chosen yet. */
  readonly canBeHeader: CanBeHeader | undefined;
  /** Most rows, blank ones included: each takes some microseconds. */
  readonly maxRows: number;
  /** For files of another format. */
  readonly formatAdvice: FormatAdvice;
  /**
   * Last rows that are perhaps a footer are not read in a part that goes on. A part without the begin of the file may
   * have no rows.
   */
  readonly part?: FilePart | undefined;
  /** Receives what was passed over or read in an unusual way, at the end of the file. */
  readonly onNotice: (notice: string) => unknown;
}

/** They take less than a millisecond. */
const rowsPerStep = 128;

const limits = { headerBytes: 1024 * 1024, rowBytes: 8 * 1024 * 1024 } as const;

/**
 * Reads the rows of a CSV: the delimiter is detected, and quoted cells may contain line breaks.
 * @param pieces UTF-8 without byte order mark
 * @throws InputFault that names the position of the fault, also for a file without rows; errors of the pieces
 */
export async function* tableRows(pieces: AsyncIterable<Buffer>, rules: TableRules): AsyncGenerator<TableRow> {
  let header: Header = { columns: 0, delimiter: '', idColumn: undefined };
  let kinds = new RowKinds({ names: [], idColumn: undefined });
  let points = new DecimalPoints([], []);
  const records = new FileRecords({
    format: 'csv',
    limits,
    canBeHeader: rules.canBeHeader,
    formatAdvice: rules.formatAdvice,
    part: rules.part,
    readHeader: async (names, start) => {
      const idColumn = await rules.readHeader(names, start);
      header = { columns: names.length, delimiter: start.delimiter, idColumn };
      kinds = new RowKinds({ names, idColumn });
      points = new DecimalPoints(names, kinds.numberColumns);
      return idColumn;
    },
  });
  const held = new HeldRows();
  const pace = new Pace();
  let count = 0;
  for await (const piece of records.read(pieces)) {
    const { found, from, offset } = piece;
    const { text, line: firstLine } = textOf(piece);
    const { delimiter, columns } = header;
    const looksAtPoints = points.looksAt(text, { delimiter, row: count + 1 });
    const rows = new CsvRows(text, { delimiter, maxCells: columns, firstLine, surplus: held.surplus });
    for (let index = from; rows.next(); index += 1) {
      count += 1;
      if (count > rules.maxRows)
        throw new InputFault(`The file has more than ${countText(rules.maxRows)} rows. Cut it`);
      if (count % rowsPerStep === 0) await pace.pauseIfDue();
      const kind = kinds.of(rows, count);
      const row = rowOf(rows, { header, number: count, kind, endByte: offset + (found.ends[index] as number) });
      if (looksAtPoints && !row.isEmpty && !points.isOver) points.see(rows.cells);
      yield* held.add(row, { kind, count, watches: columns > 1 });
    }
  }
  if (rules.part?.goesOn === true) {
    yield* held.settled();
    return;
  }
  if (!records.hasHeader)
    throw new InputFault('The file has no header: it is empty. Begin it with a line that names the columns');
  yield* held.end();
  if (!held.hasContent && rules.part?.rowsLine === undefined)
    throw new InputFault(`The file has a header, but no rows${count === 0 ? '' : ' with content'}`);
  for (const notice of [...held.notices, kinds.notice, points.notice]) if (notice !== undefined) rules.onNotice(notice);
}

interface HeldRow extends TableRow {
  readonly isShort: boolean;
  /** Empty cells after the columns of the header, and the problem of the row beside them. */
  readonly surplus: number;
  readonly problemBeside: string | undefined;
}

/** Holds the rows that are perhaps a footer, and those whose surplus cells are perhaps the form of the file. */
class HeldRows {
  hasContent = false;
  private readonly watch = new FooterWatch();
  private readonly short = new ShortRows();
  private readonly surplusCells = new RowSurplus();
  private last: HeldRow[] = [];
  private held: HeldRow[] = [];

  /** The surplus cells that rows of the file may have. */
  get surplus(): number {
    return this.surplusCells.isOpen ? 0 : this.surplusCells.common;
  }

  /** Sentences about the file, known at its end. */
  get notices(): (string | undefined)[] {
    const { footer, totalsNotice } = this.watch;
    const passed = footer === undefined ? undefined : footerNotice(footer);
    return [passed, totalsNotice, this.short.notice, this.surplusCells.notice];
  }

  /** Adds a row. @returns the rows that are settled by it */
  *add(
    row: HeldRow,
    { kind, count, watches }: { readonly kind: RowKind; readonly count: number; readonly watches: boolean },
  ): Generator<TableRow> {
    if (watches) this.watch.see(kind, { row: count, line: row.line, text: row.cells[0] ?? '' });
    if (this.watch.isOpen) {
      this.last.push(row);
      return;
    }
    for (const each of [...this.last, row]) this.settle(each);
    this.last = [];
    if (!this.surplusCells.isOpen) yield* this.settled();
  }

  *end(): Generator<TableRow> {
    for (const row of this.last) {
      if (this.watch.footer === undefined) this.settle(row);
      else this.held.push({ ...row, isEmpty: true, isShort: false });
    }
    yield* this.settled();
  }

  private settle(row: HeldRow): void {
    if (!row.isEmpty) this.surplusCells.seeLater(row.surplus, row.line);
    this.held.push(row);
  }

  /** The rows that are no part of a footer. */
  *settled(): Generator<TableRow> {
    for (const row of this.held) {
      this.hasContent ||= !row.isEmpty;
      if (row.isShort) this.short.add(row.line);
      const isForm = row.surplus > 0 && row.surplus === this.surplusCells.common;
      yield isForm ? { ...row, problem: row.problemBeside } : row;
    }
    this.held = [];
  }
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
