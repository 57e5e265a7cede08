import { setImmediate as nextStep } from 'node:timers/promises';
import { CsvRows } from '../csv-rows.js';
import type { FileFormat } from '../file-form.js';
import { type FormatAdvice, refuseOtherFormat } from '../other-format.js';
import { valueOfCell } from '../spreadsheet-cell.js';
import { checkText } from './check-text.js';
import { type CanBeHeader, csvStart, titlesFault } from './csv-start.js';
import { pieceBytes } from './inflate-file.js';
import { BytesFault, type FilePosition, InputFault, positionIn, readableBytes } from './input-fault.js';
import { type FoundRecords, RecordEnds, recordAt } from './record-ends.js';
import { type RowForm, refuseFaultyRows, strayQuote } from './row-faults.js';

interface ReadingLimits {
  readonly headerBytes: number;
  readonly rowBytes: number;
}

/** Columns of a CSV; a CRM exports a few hundred. Each is a cell of each row. */
const maxColumns = 20_000;

export interface RecordRules {
  readonly format: FileFormat;
  readonly limits: ReadingLimits;
  /**
   * Reads the header of a CSV.
   * @returns the index of the column with the crm_id
   * @throws InputFault
   */
  readonly readHeader: (names: readonly string[], start: HeaderStart) => Promise<number | undefined>;
  /** See `titlesFault`. */
  readonly canBeHeader?: CanBeHeader | undefined;
  readonly formatAdvice: FormatAdvice;
  readonly part?: FilePart | undefined;
}

/** The first line of a header, and the delimiter of the file. */
export interface HeaderStart {
  readonly line: number;
  readonly delimiter: string;
  /** Bytes of the text up to the end of the header. */
  readonly endByte: number;
}

/** A text that is a part of a CSV: its header, and some of its rows. */
export interface FilePart {
  /** Line of the first row in the file; undefined where the rows follow the header. */
  readonly rowsLine?: number | undefined;
  /** Whether more of the file follows: the last record has perhaps not ended, and is not read. */
  readonly goesOn: boolean;
}

/** One pass over the text of a file: finds its records, which it does not read. It holds a few MiB of any file. */
export class FileRecords {
  private readonly pace = new Pace();
  /** Set when the delimiter is known. */
  private records: RecordEnds | undefined;
  /** Set with the header. */
  private form: RowForm | undefined;
  /** Bytes from the start of the first record that has not ended. */
  private rest: Buffer = Buffer.alloc(0);
  /** The bytes of `rest` that are checked, and those that are scanned. */
  private checked = 0;
  private scanned = 0;
  /** Line of the first byte of `rest`, and its position in the text. */
  private line = 1;
  private offset = 0;
  /** Records after the header. */
  private rows = 0;
  private isStarted = false;

  constructor(private readonly rules: RecordRules) {
    if (rules.format === 'jsonl') this.records = new RecordEnds('jsonl', '', pieceBytes + 1);
  }

  /** Whether a CSV has a header. */
  get hasHeader(): boolean {
    return this.form !== undefined;
  }

  /**
   * Reads a file. The records of a step are valid until the next one.
   * @param pieces UTF-8 without byte order mark, not yet checked
   * @throws InputFault; errors of the pieces
   */
  async *read(pieces: AsyncIterable<Buffer>): AsyncGenerator<FoundRecords> {
    for await (const piece of this.located(pieces)) {
      this.rest = this.rest.length === 0 ? piece : Buffer.concat([this.rest, piece]);
      this.checked = checkText(this.rest, { from: this.checked, line: this.line, isEnd: false });
      this.checkStart();
      this.records ??= this.findDelimiter({ isEnd: false });
      await this.pace.pauseIfDue();
      if (this.records !== undefined) yield* this.scan(this.records);
      this.checkOpenRecord();
      // A file that is already in memory would otherwise never let other work run.
      await this.pace.pauseIfDue();
    }
    if (this.rules.part?.goesOn === true) return;
    checkText(this.rest, { from: this.checked, line: this.line, isEnd: true });
    this.records ??= this.findDelimiter({ isEnd: true });
    await this.pace.pauseIfDue();
    const { records } = this;
    if (records === undefined) return;
    yield* this.scan(records);
    this.checkOpenRecord();
    if (records.openQuote !== undefined) throw this.unclosedQuote(records.openQuote);
    if (this.rest.length > 0) yield* this.last(records);
  }

  private async *located(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    try {
      yield* pieces;
    } catch (error) {
      throw error instanceof BytesFault ? error.after(positionIn(this.rest, this.rest.length, this.line)) : error;
    }
  }

  /** Checks the format of a file by its first piece, which has at least some thousand characters of it. */
  private checkStart(): void {
    if (this.isStarted) return;
    this.isStarted = true;
    const { format, canBeHeader, formatAdvice: advice } = this.rules;
    refuseOtherFormat(this.rest.toString('utf8', 0, startBytes), { format, line: this.line, canBeHeader, advice });
  }

  /** Creates the scan of a CSV. Undefined until its first line has been read. */
  private findDelimiter({ isEnd }: { readonly isEnd: boolean }): RecordEnds | undefined {
    this.skipBlankLines(isEnd);
    if (this.rest.length === 0) return undefined;
    const { headerBytes } = this.rules.limits;
    const text = this.rest.toString('utf8', 0, headerBytes);
    const start = csvStart(text, { isAll: isEnd || this.rest.length > headerBytes });
    if (start === undefined) return undefined;
    const skipped = Buffer.byteLength(text.slice(0, start.skip));
    this.rest = this.rest.subarray(skipped);
    this.offset += skipped;
    this.checked = Math.max(0, this.checked - skipped);
    this.line += start.skippedLines;
    return new RecordEnds('csv', start.delimiter, pieceBytes + 1);
  }

  private skipBlankLines(isEnd: boolean): void {
    const { rest } = this;
    let at = 0;
    for (; at < rest.length; at += 1) {
      const byte = rest[at];
      if (byte !== lineFeed && byte !== carriageReturn) break;
      // The LF of a CRLF may be in the next piece.
      if (byte === carriageReturn && at + 1 === rest.length && !isEnd) break;
      if (byte === lineFeed || rest[at + 1] !== lineFeed) this.line += 1;
    }
    this.rest = rest.subarray(at);
    this.offset += at;
    this.checked = Math.max(0, this.checked - at);
  }

  private async *scan(records: RecordEnds): AsyncGenerator<FoundRecords> {
    const { rest } = this;
    let start = 0;
    for (let at = this.scanned, to = at; at < rest.length; at = to) {
      to = Math.min(at + pieceBytes, rest.length);
      const bytes = rest.subarray(start, to);
      const count = records.scan(bytes, at - start);
      if (count > 0) yield* this.add(records, bytes, count);
      const ended = count === 0 ? 0 : (records.ends[count - 1] as number);
      const endedLines = count === 0 ? 0 : (records.lines[count - 1] as number);
      if (records.stray !== undefined) {
        const { opening, inside } = records.stray;
        const row = { bytes: bytes.subarray(ended), line: this.line + endedLines };
        throw strayQuote(row, { opening: opening - ended, inside: inside - ended });
      }
      start += ended;
      this.offset += ended;
      this.line += endedLines;
    }
    this.rest = rest.subarray(start);
    this.checked -= start;
    this.scanned = this.rest.length;
  }

  /** Adds the last record, which has no line end. */
  private async *last(records: RecordEnds): AsyncGenerator<FoundRecords> {
    records.ends[0] = this.rest.length;
    records.lines[0] = records.openLineCount + 1;
    yield* this.add(records, this.rest, 1);
  }

  private async *add(found: RecordEnds, bytes: Buffer, to: number): AsyncGenerator<FoundRecords> {
    const { offset } = this;
    let from = 0;
    if (this.rules.format === 'csv') {
      for (; this.form === undefined && from < to; from += 1)
        await this.readHeader({ bytes, found, from, to: from + 1, line: this.line, offset }, found.delimiter);
      if (this.form !== undefined) refuseFaultyRows({ bytes, found, from, to, line: this.line, offset }, this.form);
    }
    this.rows += to - from;
    if (from < to) yield { bytes, found, from, to, line: this.line, offset };
  }

  /** Takes a record as the header, unless all its cells are blank. */
  private async readHeader(found: FoundRecords, delimiter: string): Promise<void> {
    const { bytes, line } = recordAt(found, found.from);
    if (bytes.length > this.rules.limits.headerBytes + 2) throw this.headerTooLong(line);
    const row = new CsvRows(bytes.toString(), { delimiter, maxCells: maxColumns + 1, firstLine: line });
    row.next();
    await this.pace.pauseIfDue();
    if (row.cells.every((cell) => cell.trim() === '') && !row.hasMore) return;
    const names = row.cells.map(valueOfCell);
    if (names.length > maxColumns)
      throw new InputFault(`The header (line ${line}) has more than ${maxColumns} columns`, { line });
    const { canBeHeader, readHeader } = this.rules;
    const end = found.found.ends[found.from] as number;
    const after = found.bytes.toString('utf8', end, end + maxTitleBytes);
    const lineAfter = found.line + (found.found.lines[found.from] as number);
    const titles = titlesFault(names, { line, lineAfter, after, canBeHeader });
    if (titles !== undefined) throw titles;
    const crmIdColumn = await readHeader(names, { line, delimiter, endByte: found.offset + end });
    const { rowsLine } = this.rules.part ?? {};
    if (rowsLine !== undefined) this.line += rowsLine - lineAfter;
    const namedColumns = names.findLastIndex((name) => name.trim() !== '') + 1;
    this.form = { delimiter, columns: names.length, namedColumns, crmIdColumn };
  }

  /** Ends the reading of a record that is too long: an unclosed quote would otherwise take all of the file. */
  private checkOpenRecord(): void {
    const { rest, line } = this;
    const { headerBytes, rowBytes } = this.rules.limits;
    const isHeader = this.rules.format === 'csv' && this.form === undefined;
    if (rest.length <= (isHeader ? headerBytes : rowBytes) + 2) return;
    const quoteAt = this.records?.openQuote;
    const quote = quoteAt === undefined ? undefined : positionIn(rest, quoteAt, line);
    const hint =
      quote === undefined ? '' : `: the quote in line ${quote.line}, column ${quote.column} is perhaps not closed`;
    if (isHeader) throw this.headerTooLong(line, hint);
    throw rowTooLong(rowBytes, { row: this.rows + 1, line, hint, ...(quote !== undefined && { at: quote }) });
  }

  private headerTooLong(line: number, hint = ''): InputFault {
    const most = readableBytes(this.rules.limits.headerBytes);
    return new InputFault(`The header (line ${line}) has more than ${most}${hint}`, { line });
  }

  private unclosedQuote(at: number): InputFault {
    const position = positionIn(this.rest, at, this.line);
    return new InputFault(
      `The quote in line ${position.line}, column ${position.column} is not closed. Close it, or write the cell in quotes and each quote in it twice`,
      position,
    );
  }
}

const [lineFeed, carriageReturn] = [0x0a, 0x0d];
const startBytes = 64 * 1024;
const maxTitleBytes = 64 * 1024;
const maxStepMs = 10;

export const rowTooLong = (
  rowBytes: number,
  {
    row,
    line,
    hint = '',
    at = { line, column: 1 },
  }: { readonly row: number; readonly line: number; readonly hint?: string; readonly at?: FilePosition },
): InputFault =>
  new InputFault(`Row ${row} (line ${line}, column 1) has more than ${readableBytes(rowBytes)}${hint}. Shorten it`, at);

/** Lets other work run after some milliseconds. */
export class Pace {
  private dueMs = performance.now() + maxStepMs;

  async pauseIfDue(): Promise<void> {
    if (performance.now() < this.dueMs) return;
    await nextStep();
    this.dueMs = performance.now() + maxStepMs;
  }
}
