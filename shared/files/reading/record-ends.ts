import type { FileFormat } from '../file-form.js';

/**
 * States of the scan. `start` is the start of a cell, `afterQuote` follows a quote inside a quoted cell, and `closed`
 * the spaces after it. `inMark` and `inMarkEnd` follow the first and the second byte of a mark before a record.
 */
const [start, plain, afterQuote, closed, quoted, afterReturn, inMark, inMarkEnd] = [0, 1, 2, 3, 4, 5, 6, 7];
const [ordinary, quote, delimiting, lineFeed, carriageReturn, space, markByte] = [0, 1, 2, 3, 4, 5, 6];
/** A byte order mark in UTF-8. Files that were joined have one before a line: it is no part of the first cell. */
const mark = [0xef, 0xbb, 0xbf] as const;
const returnByte = 0x0d;
/** A space and a tab. A tab may be the delimiter too. */
const blanks = [0x20, 0x09] as const;

const needsCare = 0xff;

/** The next state after a byte, if it changes nothing else, as nearly all; otherwise `needsCare`. */
function quickState(state: number, kind: number): number {
  if (state > quoted) return needsCare;
  if (state === quoted) {
    if (kind === quote) return afterQuote;
    return kind === lineFeed || kind === carriageReturn ? needsCare : quoted;
  }
  if (kind === delimiting) return start;
  if (kind === carriageReturn) return afterReturn;
  if (kind === lineFeed) return needsCare;
  if (state === plain) return plain;
  if (kind === space) return state === start ? start : closed;
  if (state === start) return kind === ordinary ? plain : needsCare;
  return state === afterQuote && kind === quote ? quoted : needsCare;
}

/**
 * Finds the ends of records in the bytes of a file. It reads no cells, so it passes hundreds of MB per second.
 *
 * - CSV: LF, CRLF and CR end a record outside quotes. A quote opens a quoted cell only at the start of a cell, where
 *   spaces and tabs before it do not count. A quote that neither a delimiter nor a line end follows, with or without
 *   spaces, makes the rest of its cell unquoted. So csv-parse reads the same records with `relax_quotes`, but for the
 *   spaces. In a quoted cell of several lines such a quote is stray: the scan ends.
 * - JSONL: the same line ends. JSON escapes line breaks of texts, so quotes do not matter.
 */
export class RecordEnds {
  /** Position after the line end of each record that `scan` found. */
  readonly ends: Uint32Array;
  /** Lines from the start of the bytes to each of these ends. */
  readonly lines: Uint32Array;
  private state = start;
  /** Lines in the record that has not ended. */
  private openLines = 0;
  private quoteAt = 0;
  /** Lines in the open record before its open quoted cell. */
  private quoteLine = 0;
  /** A quoted cell of several lines that holds an undoubled quote: positions of both quotes in the bytes. */
  stray: { readonly opening: number; readonly inside: number } | undefined;
  private readonly kinds = new Uint8Array(256);
  /** `quickState` for each state and byte. A chain of comparisons takes a quarter longer. */
  private readonly quick = new Uint8Array(8 * 256);

  /** @param maxRecords maximum records in one call of `scan`: one more than its new bytes */
  constructor(
    format: FileFormat,
    readonly delimiter: string,
    maxRecords: number,
  ) {
    this.ends = new Uint32Array(maxRecords);
    this.lines = new Uint32Array(maxRecords);
    this.kinds[0x0a] = lineFeed;
    this.kinds[returnByte] = carriageReturn;
    if (format === 'csv') {
      this.kinds[0x22] = quote;
      for (const each of blanks) this.kinds[each] = space;
      this.kinds[mark[0]] = markByte;
      this.kinds[delimiter.charCodeAt(0)] = delimiting;
    }
    for (let state = 0; state < 8; state += 1)
      for (const [byte, kind] of this.kinds.entries()) this.quick[state * 256 + byte] = quickState(state, kind);
  }

  /** Line ends in the record that has not ended. */
  get openLineCount(): number {
    return this.openLines;
  }

  /** Where the quote of an open quoted cell is in the bytes; undefined outside one. */
  get openQuote(): number | undefined {
    return this.state === quoted ? this.quoteAt : undefined;
  }

  /**
   * Scans the bytes of a record that has not ended, and more bytes.
   * @param from position of the bytes that have not been scanned
   * @returns the number of records that ended
   */
  scan(bytes: Uint8Array, from: number): number {
    const { kinds, quick, ends, lines } = this;
    const { length } = bytes;
    let { state, quoteAt, quoteLine } = this;
    let line = this.openLines;
    let count = 0;
    for (let at = from; at < length; at += 1) {
      const byte = bytes[at] as number;
      const next = quick[state * 256 + byte] as number;
      if (next !== needsCare) {
        state = next;
        continue;
      }
      const kind = kinds[byte] as number;
      if (state === quoted) {
        if (kind === carriageReturn || bytes[at - 1] !== returnByte) line += 1;
      } else if (kind === lineFeed || state === afterReturn) {
        line += 1;
        lines[count] = line;
        ends[count] = kind === lineFeed ? at + 1 : at;
        count += 1;
        state = start;
        if (kind !== lineFeed) at -= 1;
      } else if (state > quoted) {
        const isMark = byte === mark[state === inMark ? 1 : 2];
        if (!isMark) state = plain;
        else state = state === inMark ? inMarkEnd : start;
        if (!isMark) at -= 1;
      } else if (kind === quote && state === start) {
        state = quoted;
        quoteAt = at;
        quoteLine = line;
      } else if (kind === markByte && state === start && at === (count === 0 ? 0 : ends[count - 1])) {
        state = inMark;
      } else if (state >= afterQuote && line > quoteLine) {
        this.stray = { opening: quoteAt, inside: bytes.lastIndexOf(0x22, at - 1) };
        break;
      } else {
        state = plain;
      }
    }
    const ended = count === 0 ? 0 : (ends[count - 1] as number);
    this.state = state;
    this.quoteAt = quoteAt - ended;
    const endedLines = count === 0 ? 0 : (lines[count - 1] as number);
    this.openLines = line - endedLines;
    this.quoteLine = quoteLine - endedLines;
    return count;
  }
}

/** Records of a file, in the bytes from the start of the first one. */
export interface FoundRecords {
  readonly bytes: Buffer;
  readonly found: Pick<RecordEnds, 'ends' | 'lines'>;
  /** Index in `found` of the first record, and of the record after the last one. */
  readonly from: number;
  readonly to: number;
  /** Line at the start of the bytes, and their position in the text of the file. */
  readonly line: number;
  readonly offset: number;
}

/** The bytes of a record, and its first line. */
export function recordAt(
  { bytes, found, line }: FoundRecords,
  index: number,
): { readonly bytes: Buffer; readonly line: number } {
  const start = index === 0 ? 0 : (found.ends[index - 1] as number);
  const lines = index === 0 ? 0 : (found.lines[index - 1] as number);
  return { bytes: bytes.subarray(start, found.ends[index]), line: line + lines };
}

/** The text of the records, and its first line. */
export function textOf({ bytes, found, from, to, line }: FoundRecords): {
  readonly text: string;
  readonly line: number;
} {
  const start = from === 0 ? 0 : (found.ends[from - 1] as number);
  const lines = from === 0 ? 0 : (found.lines[from - 1] as number);
  return { text: bytes.toString('utf8', start, found.ends[to - 1]), line: line + lines };
}
