import { rowTooLong } from '../../../shared/files/reading/file-records.js';
import { InputFault } from '../../../shared/files/reading/input-fault.js';
import type { FoundRecords } from '../../../shared/files/reading/record-ends.js';
import type { UploadRange } from '../../../shared/store/jobs/job-documents.js';
import { deflateQuickly } from '../../../shared/store/jobs/job-slices.js';

/** Rows of a file, cut out of it. */
export interface RawSlice {
  /** From 0. */
  readonly number: number;
  readonly rows: number;
  /** Number of its first row, from 1, without the header. */
  readonly first_row: number;
  /** Line of its first row, from 1. */
  readonly first_line: number;
  /** Its bytes in the file, as sent. They are its rows if it has no `input`. */
  readonly bytes: Pick<UploadRange, 'from' | 'to'>;
  /** Its rows as one gzip member, level 1. Absent if the file has them in the same form. */
  readonly input?: Uint8Array;
}

export interface CutOptions {
  readonly limits: {
    readonly rowsPerSlice: number;
    readonly sliceBytes: number;
    readonly rowBytes: number;
    readonly rows: number;
  };
  /** Known with the first record: whether the rows are left in the file, and bytes of it before its text. */
  readonly source: () => { readonly isRange: boolean; readonly textAt: number };
  readonly onSlices: (slices: readonly RawSlice[]) => Promise<void>;
}

const [lineFeed, carriageReturn] = [0x0a, 0x0d];
const maxTogether = { slices: 8, ranges: 64, bytes: 4 * 1024 * 1024 } as const;
/** A lone LF after a row that ends with CR would be the second half of its line end. */
const blankRow = '\r\n';

/** Cuts rows into slices. A blank line between two rows is a row; blank lines at the end of the file are left out. */
export class SliceCutter {
  /** Rows so far. */
  rows = 0;
  /** Slices so far. */
  slices = 0;
  private pieces: Uint8Array[] = [];
  private bytesTaken = 0;
  private rowsTaken = 0;
  private firstLine = 0;
  /** With the positions of those blank lines that begin a slice if they are rows. */
  private blanks = { count: 0, line: 0, starts: [] as number[] };
  /** Positions of the open slice in the text, up to its last row. */
  private place = { from: 0, to: 0 };
  private waiting: Promise<RawSlice>[] = [];
  private waitingBytes = 0;
  private sending: Promise<void> = Promise.resolve();

  constructor(private readonly options: CutOptions) {}

  /** Number of the row that comes next. */
  get nextRow(): number {
    return this.rows + this.blanks.count + 1;
  }

  /** @throws InputFault for too many rows or a row that is too long; the errors of `onSlices` */
  async add({ bytes, found, from, to, line, offset }: FoundRecords): Promise<void> {
    const { rowsPerSlice, sliceBytes, rowBytes } = this.options.limits;
    let start = from === 0 ? 0 : (found.ends[from - 1] as number);
    let runStart = start;
    for (let index = from; index < to; index += 1) {
      const end = found.ends[index] as number;
      const recordLine = line + (index === 0 ? 0 : (found.lines[index - 1] as number));
      if (isBlank(bytes, start, end)) {
        this.keep(bytes.subarray(runStart, start));
        runStart = end;
        if (this.blanks.count === 0) this.blanks.line = recordLine;
        if ((this.rowsTaken + this.blanks.count) % rowsPerSlice === 0) this.blanks.starts.push(offset + start);
        this.blanks.count += 1;
      } else {
        if (end - start > rowBytes) this.checkLength(bytes.subarray(start, end), recordLine);
        if (this.blanks.count > 0) await this.addBlanks(offset + start);
        if (this.rowsTaken === 0) {
          this.firstLine = recordLine;
          this.place.from = offset + start;
        }
        this.count(1);
        this.place.to = offset + end;
        if (this.rowsTaken >= rowsPerSlice || this.bytesTaken + end - runStart >= sliceBytes) {
          this.keep(bytes.subarray(runStart, end));
          runStart = end;
          await this.close();
        }
      }
      start = end;
    }
    this.keep(bytes.subarray(runStart, start));
  }

  /** Sends the last slices. */
  async end(): Promise<void> {
    if (this.rowsTaken > 0) await this.close();
    await this.send();
    await this.sending;
  }

  /** Resolves when no slice is being sent. */
  async settled(): Promise<void> {
    await Promise.allSettled([this.sending, ...this.waiting]);
  }

  /** @param end position of the row after them */
  private async addBlanks(end: number): Promise<void> {
    const { rowsPerSlice, rows } = this.options.limits;
    const { blanks } = this;
    if (this.rows + blanks.count > rows) throw tooManyRows(rows);
    while (blanks.count > 0) {
      const count = Math.min(blanks.count, rowsPerSlice - this.rowsTaken);
      if (this.rowsTaken === 0) {
        this.firstLine = blanks.line;
        this.place.from = blanks.starts.shift() ?? end;
      }
      this.place.to = blanks.starts[0] ?? end;
      this.count(count);
      this.keep(Buffer.from(blankRow.repeat(count)));
      blanks.count -= count;
      blanks.line += count;
      if (this.rowsTaken >= rowsPerSlice) await this.close();
    }
  }

  private count(rows: number): void {
    this.rows += rows;
    this.rowsTaken += rows;
    if (this.rows > this.options.limits.rows) throw tooManyRows(this.options.limits.rows);
  }

  private keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    if (!this.options.source().isRange) this.pieces.push(bytes);
    this.bytesTaken += bytes.length;
  }

  private checkLength(record: Uint8Array, line: number): void {
    const { rowBytes } = this.options.limits;
    const { length } = record;
    const last = record[length - 1];
    const returns = record[length - (last === lineFeed ? 2 : 1)] === carriageReturn ? 1 : 0;
    const lineEnd = returns + (last === lineFeed ? 1 : 0);
    if (length - lineEnd > rowBytes) throw rowTooLong(rowBytes, { row: this.nextRow, line });
  }

  private async close(): Promise<void> {
    const { isRange, textAt } = this.options.source();
    const about = {
      bytes: { from: textAt + this.place.from, to: textAt + this.place.to },
      number: this.slices,
      rows: this.rowsTaken,
      first_row: this.rows - this.rowsTaken + 1,
      first_line: this.firstLine,
    };
    const slice: Promise<RawSlice> = isRange
      ? Promise.resolve(about)
      : deflateQuickly(Buffer.concat(this.pieces)).then((input) => ({ ...about, input }));
    // `send` throws its error. Until then it must not count as unhandled.
    slice.catch(() => undefined);
    this.waiting.push(slice);
    if (!isRange) this.waitingBytes += this.bytesTaken;
    this.slices += 1;
    this.pieces = [];
    this.bytesTaken = 0;
    this.rowsTaken = 0;
    const most = isRange ? maxTogether.ranges : maxTogether.slices;
    if (this.waiting.length >= most || this.waitingBytes >= maxTogether.bytes) await this.send();
  }

  /** Sends the waiting slices when the earlier ones have been sent. */
  private async send(): Promise<void> {
    const slices = await Promise.all(this.waiting);
    this.waiting = [];
    this.waitingBytes = 0;
    await this.sending;
    if (slices.length === 0) return;
    this.sending = this.options.onSlices(slices);
    this.sending.catch(() => undefined);
  }
}

/** Whether a record is a line end alone. */
function isBlank(bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start];
  if (first !== lineFeed && first !== carriageReturn) return false;
  return end - start === 1 || (end - start === 2 && bytes[start + 1] === lineFeed);
}

const tooManyRows = (rows: number): InputFault => new InputFault(`The file has more than ${rows} rows. Split it`);
