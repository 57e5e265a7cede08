import { isOddClosing, isOddOpening, splitCell } from './split-cells.js';

const [quote, lineFeed, carriageReturn, space, tab, backslash] = [0x22, 0x0a, 0x0d, 0x20, 0x09, 0x5c];
const [equals, apostrophe] = [0x3d, 0x27];
const [lastAscii, byteOrderMark] = [0x7e, 0xfeff];
/** A row may have a million cells. To look for a split one among them would keep other work waiting. */
const maxSplitCells = 20_000;

/**
 * Reads the rows of a CSV text one after another, as csv-parse does with `relax_quotes`: a quote inside an unquoted
 * cell is an ordinary character. Spaces around the quotes of a cell do not count, which csv-parse does not know. Rows
 * end with LF, CRLF or CR. csv-parse would take most of the time of a bulk job.
 *
 * The members describe the current row. They change with `next`.
 */
export class CsvRows {
  /** The first cells, at most `maxTexts`. */
  readonly cells: string[] = [];
  /** Whether a cell after these, among the first `maxCells`, has a character. */
  hasOther = false;
  /** Number of all cells. */
  count = 0;
  /** Whether a cell after the first `maxCells` has a character. */
  hasMore = false;
  /** Whether the value of a cell may differ from its text: see `valueOfCell`. */
  hasOddCell = false;
  /** Whether a quoted cell reaches the end of the text without its closing quote. */
  isUnclosed = false;
  /** Its first line, from 1. */
  line: number;
  /** Positions in the text: its first character, the end of cell `maxCells`, and its end without line end. */
  start = 0;
  cellsEnd = 0;
  end = 0;
  private at = 0;
  private nextLine: number;
  private readonly delimiter: number;

  /**
   * @param delimiter one ASCII character
   * @param firstLine of the text
   * @param maxTexts `maxCells` by default. Making a text of each cell takes half of the time
   * @param surplus empty cells that each row has after the columns of its header
   */
  constructor(
    private readonly text: string,
    {
      delimiter,
      maxCells,
      firstLine,
      maxTexts = maxCells,
      surplus = 0,
    }: {
      readonly delimiter: string;
      readonly maxCells: number;
      readonly firstLine: number;
      readonly maxTexts?: number;
      readonly surplus?: number;
    },
  ) {
    this.delimiter = delimiter.charCodeAt(0);
    this.maxCells = maxCells;
    this.maxTexts = maxTexts;
    this.maxSurplus = surplus;
    this.line = firstLine;
    this.nextLine = firstLine;
  }

  /** Whether a cell has other quotes than those of a CSV, and seems to end before these do. */
  private mayBeSplit = false;
  private readonly maxCells: number;
  private readonly maxTexts: number;
  private readonly maxSurplus: number;
  /** Whether a cell after `cells`, among the first `maxCells`, has more than white space. */
  private hasOtherContent = false;

  /** Reads the next row. @returns false at the end of the text */
  next(): boolean {
    const { text, delimiter } = this;
    if (this.at >= text.length) return false;
    // Files that were joined have the mark of the second one before a line.
    if (text.charCodeAt(this.at) === byteOrderMark) this.at += 1;
    this.start = this.at;
    this.line = this.nextLine;
    this.count = 0;
    this.hasOther = false;
    this.hasOtherContent = false;
    this.hasMore = false;
    this.hasOddCell = false;
    this.mayBeSplit = false;
    for (;;) {
      const first = text.charCodeAt(this.at);
      // A hostile row has a million empty cells.
      if (first === delimiter) {
        this.emptyCell();
        this.at += 1;
        continue;
      }
      // Nearly all cells begin with a letter or a digit.
      if ((first > equals && first <= lastAscii) || (first > apostrophe && first < equals)) this.plainCell(this.at);
      else if (first === quote) this.quotedCell(this.at);
      else this.oddCell();
      const code = this.at < text.length ? text.charCodeAt(this.at) : -1;
      if (code === delimiter) {
        this.at += 1;
        continue;
      }
      this.end = this.at;
      if (this.count < this.maxCells) this.cellsEnd = this.at;
      // Only now: an array that is emptied for each row would grow again in each.
      if (this.cells.length > this.count) this.cells.length = this.count;
      if (code === -1) return true;
      this.at += code === carriageReturn && text.charCodeAt(this.at + 1) === lineFeed ? 2 : 1;
      this.nextLine += 1;
      return true;
    }
  }

  /** Whether it has nothing but white space. */
  get isBlank(): boolean {
    return !this.hasMore && !this.hasOtherContent && this.cells.every((cell) => cell.trim() === '');
  }

  /** Empty cells after the columns of its header, which is the number of `maxCells`. */
  get surplus(): number {
    return this.hasMore ? 0 : Math.max(0, this.count - this.maxCells);
  }

  /** Why its cells do not fit the columns of a header: see `problemWith`. */
  get problem(): string | undefined {
    return this.problemWith(this.maxSurplus);
  }

  /**
   * Why its cells do not fit the columns of a header: `maxCells`. Cells that are left out at its end are empty.
   * @param surplus empty cells that the row may have after these
   */
  problemWith(surplus: number): string | undefined {
    const isTooLong = this.count > this.maxCells && (this.hasMore || this.count !== this.maxCells + surplus);
    if (!isTooLong && !this.mayBeSplit) return undefined;
    if (this.count <= maxSplitCells) {
      const split = this.splitProblem(isTooLong);
      if (split !== undefined || !isTooLong) return split;
    }
    const has = `The row has ${this.count} cells, but the header has ${this.maxCells} columns`;
    const begins = `Cell ${this.maxCells + 1} begins at column ${this.columnAt(this.cellsEnd + 1)}`;
    return `${has}. ${begins}. Quote cells that contain a delimiter`;
  }

  /** The problem of a cell that a delimiter inside its own form of quotes has split. */
  private splitProblem(isTooLong: boolean): string | undefined {
    const split = splitCell(this.rowTo(this.count).cells, { isTooLong });
    if (split === undefined) return undefined;
    const at = split.cell === 0 ? this.start : this.start + this.rowTo(split.cell).cellsEnd + 1;
    const cells = `cells ${split.cell + 1} to ${split.last + 1}`;
    return `A delimiter splits the cell that begins at column ${this.columnAt(at)} into ${cells}. ${split.advice}`;
  }

  /** All its cells under the columns of the header, also those after `maxTexts`. */
  everyCell(): readonly string[] {
    const count = Math.min(this.count, this.maxCells);
    return this.cells.length === count ? this.cells : this.rowTo(count).cells;
  }

  /** The current row alone, with so many of its cells. */
  private rowTo(maxCells: number): CsvRows {
    const { text, start, cellsEnd, end, line: firstLine } = this;
    const delimiter = String.fromCharCode(this.delimiter);
    // A row may have a million further cells.
    const to = maxCells <= this.maxCells ? cellsEnd : end;
    const row = new CsvRows(text.slice(start, to), { delimiter, maxCells, firstLine });
    row.next();
    return row;
  }

  /** The column of a position, from 1 in its line. */
  private columnAt(at: number): number {
    const before = this.text.slice(this.start, at);
    return before.length - Math.max(before.lastIndexOf('\n'), before.lastIndexOf('\r'));
  }

  /** A cell that is empty, or begins with white space or perhaps with other quotes than those of a CSV. */
  private oddCell(): void {
    const { text, delimiter } = this;
    const from = this.at;
    let at = from;
    let code = text.charCodeAt(at);
    while ((code === space || code === tab) && code !== delimiter) code = text.charCodeAt(++at);
    if (code === quote) {
      this.at = at;
      this.quotedCell(from);
      return;
    }
    this.plainCell(from);
    if (code === apostrophe && at === from) this.hasOddCell = true;
    if (code > lastAscii ? !isOddOpening(code) : code !== equals) return;
    this.hasOddCell = true;
    if (code === equals && text.charCodeAt(at + 1) !== quote) return;
    const last = text.charCodeAt(this.at - 1);
    this.mayBeSplit ||= code > lastAscii ? !isOddClosing(last) : last !== quote || this.at < at + 4;
  }

  private plainCell(from: number): void {
    const { text } = this;
    this.skipPlain();
    if (this.count >= this.maxCells) this.pass(this.at > from);
    else if (this.at > from && (this.count < this.maxTexts || !this.hasOtherContent))
      this.keep(text.slice(from, this.at));
    else this.keep('');
  }

  /** Moves to the next delimiter or line end outside quotes. */
  private skipPlain(): void {
    const { text, delimiter } = this;
    const { length } = text;
    let { at } = this;
    for (; at < length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === delimiter) break;
      // Nearly all characters are above both line ends.
      if (code <= carriageReturn && (code === lineFeed || code === carriageReturn)) break;
    }
    this.at = at;
  }

  /** @param start of the cell, before the spaces in front of its quote */
  private quotedCell(start: number): void {
    const { text } = this;
    const from = this.at + 1;
    // A hostile row has hundreds of thousands of empty ones.
    if (text.charCodeAt(from) === quote && text.charCodeAt(from + 1) === this.delimiter) {
      this.at = from + 1;
      this.emptyCell();
      return;
    }
    const to = this.closingQuote(from);
    let content = text.slice(from, to);
    if (content.includes('"')) content = content.replaceAll('""', '"');
    const code = content.charCodeAt(0);
    if (code === equals || code === apostrophe || code <= space || (code > lastAscii && isOddOpening(code)))
      this.hasOddCell = true;
    if (content.charCodeAt(content.length - 1) === backslash) this.mayBeSplit = true;
    this.at = Math.min(to + 1, text.length);
    this.isUnclosed = to === text.length;
    const afterQuote = this.at;
    this.skipPlain();
    // Text after the closing quote makes both quotes ordinary characters.
    if (this.at > afterQuote && !this.areBlanks(afterQuote, this.at)) {
      content = `${text.slice(start, from)}${content}"${text.slice(afterQuote, this.at)}`;
      this.mayBeSplit = true;
    }
    if (this.count < this.maxCells) this.keep(content);
    else this.pass(content !== '');
  }

  private areBlanks(from: number, to: number): boolean {
    for (let at = from; at < to; at += 1) {
      const code = this.text.charCodeAt(at);
      if (code !== space && code !== tab) return false;
    }
    return true;
  }

  /** The position of the closing quote, or the end of the text. Counts the lines before it. */
  private closingQuote(from: number): number {
    const { text } = this;
    const { length } = text;
    for (let at = from; at < length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === quote) {
        if (text.charCodeAt(at + 1) !== quote) return at;
        at += 1;
      } else if (code === lineFeed || (code === carriageReturn && text.charCodeAt(at + 1) !== lineFeed)) {
        this.nextLine += 1;
      }
    }
    return length;
  }

  private emptyCell(): void {
    if (this.count < this.maxCells) this.keep('');
    else this.count += 1;
  }

  private keep(cell: string): void {
    if (this.count < this.maxTexts) this.cells[this.count] = cell;
    else if (cell !== '') {
      this.hasOther = true;
      this.hasOtherContent ||= cell.trim() !== '';
    }
    this.count += 1;
    this.cellsEnd = this.at;
  }

  private pass(hasText: boolean): void {
    this.hasMore ||= hasText;
    this.count += 1;
  }
}
