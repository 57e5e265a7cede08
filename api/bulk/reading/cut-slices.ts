import { rowTooLong } from '../../../shared/files/reading/file-records.js';
import { InputFault } from '../../../shared/files/reading/input-fault.js';
import type { FoundRecords } from '../../../shared/files/reading/record-ends.js';
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
  /** One gzip member, level 1. */
  readonly input: Uint8Array;
}

export interface CutOptions {
  readonly limits: {
    readonly rowsPerSlice: number;
    readonly sliceBytes: number;
    readonly rowBytes: number;
    readonly rows: number;
  };
  readonly onSlices: (slices: readonly RawSlice[]) => Promise<void>;
}

const [lineFeed, carriageReturn] = [0x0a, 0x0d];
const maxTogether = { slices: 8, bytes: 4 * 1024 * 1024 } as const;
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
  private blanks = { count: 0, line: 0 };
  private waiting: Promise<RawSlice>[] = [];
  private waitingBytes = 0;
  private sending: Promise<void> = Promise.resolve();

  constructor(private readonly options: CutOptions) {}

  /** Number of the row that comes next. */
  get nextRow(): number {
    return this.rows + this.blanks.count + 1;
  }

  /** @throws InputFault for too many rows or a row that is too long; the errors of `onSlices` */
  async add({ bytes, found, from, to, line }: FoundRecords): Promise<void> {
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
        this.blanks.count += 1;
      } else {
        if (end - start > rowBytes) this.checkLength(bytes.subarray(start, end), recordLine);
        if (this.blanks.count > 0) await this.addBlanks();
        if (this.rowsTaken === 0) this.firstLine = recordLine;
        this.count(1);
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

  private async addBlanks(): Promise<void> {
    const { rowsPerSlice, rows } = this.options.limits;
    const { blanks } = this;
    if (this.rows + blanks.count > rows) throw tooManyRows(rows);
    while (blanks.count > 0) {
      const count = Math.min(blanks.count, rowsPerSlice - this.rowsTaken);
      if (this.rowsTaken === 0) this.firstLine = blanks.line;
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
    this.pieces.push(bytes);
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
    const about = {
      number: this.slices,
      rows: this.rowsTaken,
      first_row: this.rows - this.rowsTaken + 1,
      first_line: this.firstLine,
    };
    const slice = deflateQuickly(Buffer.concat(this.pieces)).then((input) => ({ ...about, input }));
    // `send` throws its error. Until then it must not count as unhandled.
    slice.catch(() => undefined);
    this.waiting.push(slice);
    this.waitingBytes += this.bytesTaken;
    this.slices += 1;
    this.pieces = [];
    this.bytesTaken = 0;
    this.rowsTaken = 0;
    if (this.waiting.length >= maxTogether.slices || this.waitingBytes >= maxTogether.bytes) await this.send();
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
