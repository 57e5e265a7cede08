import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { delimiterOf, firstLine } from '../../../shared/files/csv-delimiter.js';
import { CsvRows } from '../../../shared/files/csv-rows.js';
import { resultHeader } from '../../../shared/files/result-columns.js';
import type { KnownFields } from '../../../shared/messages/field-slots.js';
import { type FileShape, type JobOptions, jobLimits } from '../../../shared/store/jobs/job-documents.js';
import { checkText, withoutMark } from './check-text.js';
import { type RawSlice, rowTooLong, SliceCutter } from './cut-slices.js';
import { inflatedPieces, pieceBytes } from './inflate-upload.js';
import { InputFault, placeIn, readableBytes } from './input-fault.js';
import { maxColumns, shapeOfHeader } from './read-header.js';
import { RecordEnds } from './record-ends.js';

export type { RawSlice } from './cut-slices.js';
export { InputFault } from './input-fault.js';

/** The result of reading a file. */
export interface ReadFile {
  readonly shape: FileShape;
  readonly rows: number;
  readonly slices: number;
  /** The first line of the results with its line end: see `resultHeader`. */
  readonly header_line: string;
}

/** The limits of jobs; tests lower them. */
export type FileLimits = { readonly [Name in keyof typeof jobLimits]: number };

export interface ReadDeps {
  readonly knownFields: KnownFields;
  /** Receives the slices in order, a few at a time. The next ones come when it has resolved. */
  readonly onSlices: (slices: readonly RawSlice[]) => Promise<void>;
  /** Receives the bytes of the upload, as sent, that were read so far. */
  readonly onProgress?: (readBytes: number) => void;
  readonly signal?: AbortSignal;
  readonly limits?: Partial<FileLimits>;
}

/**
 * Reads an upload, plain or gzip, and cuts its rows into slices. It holds a few MiB of any file.
 * @throws InputFault; errors of the upload and of `onSlices`; the reason of the signal
 */
export async function readInput(
  upload: AsyncIterable<Uint8Array>,
  options: JobOptions,
  deps: ReadDeps,
): Promise<ReadFile> {
  const { onProgress = () => undefined, signal } = deps;
  const limits = { ...jobLimits, ...deps.limits };
  const reading = new Reading(options, deps, limits);
  try {
    for await (const piece of inflatedPieces(upload, { inflatedBytes: limits.inflatedBytes, onProgress })) {
      signal?.throwIfAborted();
      await reading.take(piece);
    }
    signal?.throwIfAborted();
    return await reading.end();
  } finally {
    await reading.settled();
  }
}

/** One pass over the inflated bytes. */
class Reading {
  private readonly cutter: SliceCutter;
  private readonly pace = new Pace();
  /** Set when the delimiter is known. */
  private records: RecordEnds | undefined;
  private shape: FileShape | undefined;
  /** Bytes from the start of the first record that has not ended. */
  private rest: Buffer = Buffer.alloc(0);
  /** The bytes of `rest` that are checked, and those that are scanned. */
  private checked = 0;
  private scanned = 0;
  /** Line of the first byte of `rest`. */
  private line = 1;
  private hasBegun = false;

  constructor(
    private readonly options: JobOptions,
    private readonly deps: ReadDeps,
    private readonly limits: FileLimits,
  ) {
    this.cutter = new SliceCutter({ limits, onSlices: deps.onSlices });
    if (options.format === 'csv') return;
    this.records = new RecordEnds('jsonl', '', pieceBytes + 1);
    this.shape = { format: 'jsonl', columns: [], delimiter: '', crm_id_field: options.crm_id_field ?? 'crm_id' };
  }

  async take(piece: Buffer): Promise<void> {
    this.rest = this.rest.length === 0 ? piece : Buffer.concat([this.rest, piece]);
    if (!this.hasBegun) this.rest = withoutMark(this.rest);
    this.hasBegun = true;
    this.checked = checkText(this.rest, { from: this.checked, line: this.line, isEnd: false });
    this.records ??= this.findDelimiter({ isEnd: false });
    await this.pace.pauseIfDue();
    if (this.records !== undefined) await this.scan(this.records);
    this.checkOpenRecord();
    // An upload that is already in memory would otherwise never let other work run.
    await this.pace.pauseIfDue();
  }

  async end(): Promise<ReadFile> {
    checkText(this.rest, { from: this.checked, line: this.line, isEnd: true });
    this.records ??= this.findDelimiter({ isEnd: true });
    await this.pace.pauseIfDue();
    const { records } = this;
    if (records !== undefined) {
      await this.scan(records);
      this.checkOpenRecord();
      if (records.openQuote !== undefined) throw this.unclosedQuote(records.openQuote);
      if (this.rest.length > 0) await this.addLast(records);
    }
    const { shape, cutter } = this;
    if (shape === undefined || cutter.rows === 0) throw this.nothingInIt();
    await cutter.end();
    return { shape, rows: cutter.rows, slices: cutter.slices, header_line: resultHeader(shape, this.options) };
  }

  settled(): Promise<void> {
    return this.cutter.settled();
  }

  /** Creates the scan of a CSV. Undefined until its header line has been read. */
  private findDelimiter({ isEnd }: { readonly isEnd: boolean }): RecordEnds | undefined {
    this.skipBlankLines(isEnd);
    if (this.rest.length === 0) return undefined;
    const { headerBytes } = this.limits;
    const text = this.rest.toString('utf8', 0, headerBytes);
    const header = firstLine(text);
    if (header === undefined && !isEnd && this.rest.length <= headerBytes) return undefined;
    return new RecordEnds('csv', delimiterOf(header ?? text), pieceBytes + 1);
  }

  private skipBlankLines(isEnd: boolean): void {
    const { rest } = this;
    let at = 0;
    for (; at < rest.length; at += 1) {
      const byte = rest[at];
      if (byte !== lineFeed && byte !== carriageReturn) break;
      // Its LF may be in the next piece.
      if (byte === carriageReturn && at + 1 === rest.length && !isEnd) break;
      if (byte === lineFeed || rest[at + 1] !== lineFeed) this.line += 1;
    }
    this.rest = rest.subarray(at);
    this.checked = Math.max(0, this.checked - at);
  }

  private async scan(records: RecordEnds): Promise<void> {
    const { rest } = this;
    let start = 0;
    for (let at = this.scanned, to = at; at < rest.length; at = to) {
      to = Math.min(at + pieceBytes, rest.length);
      const bytes = rest.subarray(start, to);
      const count = records.scan(bytes, at - start);
      if (count === 0) continue;
      await this.add(records, bytes, count);
      start += records.ends[count - 1] as number;
      this.line += records.lines[count - 1] as number;
    }
    this.rest = rest.subarray(start);
    this.checked -= start;
    this.scanned = this.rest.length;
  }

  /** Adds the last record, which has no line end. */
  private async addLast(records: RecordEnds): Promise<void> {
    records.ends[0] = this.rest.length;
    records.lines[0] = 1;
    await this.add(records, this.rest, 1);
  }

  private async add(found: RecordEnds, bytes: Buffer, to: number): Promise<void> {
    let from = 0;
    for (; this.shape === undefined && from < to; from += 1) {
      const start = from === 0 ? 0 : (found.ends[from - 1] as number);
      const line = this.line + (from === 0 ? 0 : (found.lines[from - 1] as number));
      await this.readHeader(bytes.subarray(start, found.ends[from]), { line, delimiter: found.delimiter });
    }
    await this.cutter.add({ bytes, found, from, to, line: this.line });
  }

  /** Takes a record as the header, unless all its cells are empty. */
  private async readHeader(
    record: Buffer,
    { line, delimiter }: { readonly line: number; readonly delimiter: string },
  ): Promise<void> {
    if (record.length > this.limits.headerBytes + 2) throw this.headerTooLong(line);
    const row = new CsvRows(record.toString(), { delimiter, maxCells: maxColumns + 1, firstLine: line });
    row.next();
    await this.pace.pauseIfDue();
    if (row.cells.every((cell) => cell === '') && !row.hasMore) return;
    const { options } = this;
    this.shape = await shapeOfHeader([...row.cells], { delimiter, line, options, knownFields: this.deps.knownFields });
  }

  /** Ends the reading of a record that is too long: an unclosed quote would otherwise take all of the file. */
  private checkOpenRecord(): void {
    const { rest, line, limits, cutter } = this;
    const isHeader = this.shape === undefined;
    const maxBytes = isHeader ? limits.headerBytes : limits.rowBytes;
    if (rest.length <= maxBytes + 2) return;
    const quoteAt = this.records?.openQuote;
    const quote = quoteAt === undefined ? undefined : placeIn(rest, quoteAt, line);
    const hint =
      quote === undefined ? '' : `: the quote in line ${quote.line}, column ${quote.column} is perhaps not closed`;
    if (isHeader) throw this.headerTooLong(line, hint);
    throw rowTooLong(maxBytes, { row: cutter.nextRow, line, hint });
  }

  private headerTooLong(line: number, hint = ''): InputFault {
    return new InputFault(`The header (line ${line}) has more than ${readableBytes(this.limits.headerBytes)}${hint}`, {
      line,
    });
  }

  private unclosedQuote(at: number): InputFault {
    const place = placeIn(this.rest, at, this.line);
    return new InputFault(
      `The quote in line ${place.line}, column ${place.column} is not closed. Close it, or write the cell in quotes and each quote in it twice`,
      place,
    );
  }

  private nothingInIt(): InputFault {
    if (this.options.format === 'jsonl') return new InputFault('The file has no rows');
    if (this.shape !== undefined) return new InputFault('The file has a header, but no rows');
    return new InputFault('The file has no header: it is empty. Begin it with a line that names the columns');
  }
}

const [lineFeed, carriageReturn] = [0x0a, 0x0d];
const maxStepMs = 10;

/** Lets other work run after some milliseconds. */
class Pace {
  private dueMs = performance.now() + maxStepMs;

  async pauseIfDue(): Promise<void> {
    if (performance.now() < this.dueMs) return;
    await turnOfTheLoop();
    this.dueMs = performance.now() + maxStepMs;
  }
}
