import { readCrmId } from '../../contract/crm-id.js';
import { CsvRows } from '../csv-rows.js';
import { valueOfCell } from '../spreadsheet-cell.js';
import { InputFault, positionIn } from './input-fault.js';
import { type FoundRecords, recordAt } from './record-ends.js';

/*
 * Faults of a row for which a whole file is refused: the rows around it would get wrong values, or leads would be one.
 */

/** A row of a CSV in its bytes, without the rows around it. */
export interface RowBytes {
  readonly bytes: Buffer;
  readonly line: number;
}

/** The columns of the header, as far as its rows depend on them. */
export interface RowForm {
  readonly delimiter: string;
  readonly columns: number;
  /** The columns up to the last one with a name. */
  readonly namedColumns: number;
  /** The column with the crm_id. */
  readonly crmIdColumn: number | undefined;
}

const remedy = 'Remove the quote, or write the cell in quotes and each quote in it twice';

/** @param at positions of the quote that opens a cell of several lines, and of the undoubled quote in it */
export function strayQuote(
  { bytes, line }: RowBytes,
  at: { readonly opening: number; readonly inside: number },
): InputFault {
  const opening = positionIn(bytes, at.opening, line);
  const inside = positionIn(bytes, at.inside, line);
  return new InputFault(
    `The quote in line ${opening.line}, column ${opening.column} opens a cell of several lines with another quote in line ${inside.line}, column ${inside.column}. ${remedy}`,
    opening,
  );
}

/**
 * Reads the few rows that have several lines, or perhaps a shortened crm_id.
 * @throws InputFault
 */
export function refuseFaultyRows(found: FoundRecords, form: RowForm): void {
  const { from, to, bytes, found: records } = found;
  if (from === to) return;
  const { ends, lines } = records;
  const start = from === 0 ? 0 : (ends[from - 1] as number);
  const startLine = from === 0 ? 0 : (lines[from - 1] as number);
  const haveLongRow = (lines[to - 1] as number) - startLine > to - from;
  const haveShortened = form.crmIdColumn !== undefined && mayBeShortened(bytes.subarray(start, ends[to - 1] as number));
  if (!haveLongRow && !haveShortened) return;
  for (let index = from, before = startLine; index < to; index += 1) {
    const after = lines[index] as number;
    if (after - before > 1) refuseSwallowedRows(recordAt(found, index), form);
    before = after;
    if (!haveShortened) continue;
    const record = recordAt(found, index);
    if (mayBeShortened(record.bytes)) refuseShortenedId(record, form);
  }
}

/** A file with fewer columns may well have as many delimiters in each line of an address. */
const minColumns = 4;

/**
 * Refuses a row of several lines that has swallowed other rows: a stray quote opens it, and another one closes it.
 * - Its cell of several lines holds a delimiter, and the row has another number of cells than the header.
 * - Or each of its lines alone has as many cells as the header.
 * @throws InputFault
 */
function refuseSwallowedRows({ bytes, line }: RowBytes, form: RowForm): void {
  const { delimiter, columns, namedColumns } = form;
  const text = bytes.toString();
  const row = new CsvRows(text, { delimiter, maxCells: columns, firstLine: line });
  row.next();
  if (columns < 2) return;
  const cell = firstLongCell(text, delimiter);
  if (cell === undefined || !text.slice(cell.from, cell.to).includes(delimiter)) return;
  const hasOtherCells = row.count < namedColumns || row.hasMore;
  const lines = text.slice(0, row.end).split(/\r\n|\r|\n/);
  const areWhole = columns >= minColumns && lines.every((each) => each.split(delimiter).length === columns);
  if (!hasOtherCells && !areWhole) return;
  const opening = positionIn(bytes, Buffer.byteLength(text.slice(0, cell.from)), line);
  const found = hasOtherCells
    ? `the row has ${cellCount(row.count)} instead of ${columns}`
    : 'each line is a row by itself';
  throw new InputFault(
    `The quote in line ${opening.line}, column ${opening.column} opens a cell that reaches to line ${opening.line + lineEnds(text.slice(cell.from, cell.to))}, and ${found}. ${remedy}`,
    opening,
  );
}

const cellCount = (count: number): string => (count === 1 ? '1 cell' : `${count} cells`);

/** The first quoted cell with a line break, from its quote to the closing one. */
function firstLongCell(text: string, delimiter: string): { readonly from: number; readonly to: number } | undefined {
  for (let at = 0; at < text.length; ) {
    while (text[at] !== delimiter && (text[at] === ' ' || text[at] === '\t')) at += 1;
    if (text[at] === '"') {
      let to = at + 1;
      for (; to < text.length; to += 1) {
        if (text[to] !== '"') continue;
        if (text[to + 1] !== '"') break;
        to += 1;
      }
      if (/[\r\n]/.test(text.slice(at, to))) return { from: at, to };
      at = to;
    }
    const next = text.indexOf(delimiter, at);
    if (next === -1) return undefined;
    at = next + 1;
  }
  return undefined;
}

/** Line ends of a text: CRLF, CR or LF. */
export const lineEnds = (text: string): number => text.split(/\r\n|\r|\n/).length - 1;

/** Bytes that a shortened number has. Most pieces of a file have none, so their rows need not be read here. */
const shortened = [Buffer.from('E+'), Buffer.from('e+')] as const;

/** Whether a row of the bytes may hold a number that a spreadsheet has shortened. */
const mayBeShortened = (bytes: Buffer): boolean => shortened.some((each) => bytes.includes(each));

/** @throws InputFault for a crm_id that a spreadsheet has shortened, such as `1.20214E+17` */
function refuseShortenedId({ bytes, line }: RowBytes, { delimiter, crmIdColumn }: RowForm): void {
  if (crmIdColumn === undefined) return;
  const text = bytes.toString();
  const rowTo = (maxCells: number) => {
    const row = new CsvRows(text, { delimiter, maxCells, firstLine: line });
    row.next();
    return row;
  };
  const cell = valueOfCell(rowTo(crmIdColumn + 1).cells[crmIdColumn] ?? '');
  const read = readCrmId(cell);
  if (!('problem' in read) || read.problem !== 'scientific') return;
  const start = crmIdColumn === 0 ? 0 : rowTo(crmIdColumn).cellsEnd + 1;
  const position = positionIn(bytes, Buffer.byteLength(text.slice(0, start)), line);
  throw new InputFault(
    `The crm_id in line ${position.line}, column ${position.column} is ${cell}: a spreadsheet has shortened it, and its digits are lost. ${shortenedRemedy}`,
    position,
  );
}

export const shortenedRemedy = 'Export the file from the CRM again and do not save it in a spreadsheet';
