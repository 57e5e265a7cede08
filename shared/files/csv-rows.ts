const [quote, lineFeed, carriageReturn] = [0x22, 0x0a, 0x0d];

/**
 * Reads the rows of a CSV text one after another, as csv-parse does with `relax_quotes`: a quote inside an unquoted
 * cell is an ordinary character. Rows end with LF, CRLF or CR. csv-parse would take most of the time of a bulk job.
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
   */
  constructor(
    private readonly text: string,
    {
      delimiter,
      maxCells,
      firstLine,
      maxTexts = maxCells,
    }: {
      readonly delimiter: string;
      readonly maxCells: number;
      readonly firstLine: number;
      readonly maxTexts?: number;
    },
  ) {
    this.delimiter = delimiter.charCodeAt(0);
    this.maxCells = maxCells;
    this.maxTexts = maxTexts;
    this.line = firstLine;
    this.nextLine = firstLine;
  }

  private readonly maxCells: number;
  private readonly maxTexts: number;
  /** Whether a cell after `cells`, among the first `maxCells`, has more than white space. */
  private hasOtherContent = false;

  /** Reads the next row. @returns false at the end of the text */
  next(): boolean {
    const { text, delimiter } = this;
    if (this.at >= text.length) return false;
    this.start = this.at;
    this.line = this.nextLine;
    this.count = 0;
    this.hasOther = false;
    this.hasOtherContent = false;
    this.hasMore = false;
    for (;;) {
      if (text.charCodeAt(this.at) === quote) this.quotedCell();
      else this.plainCell();
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

  /**
   * Why it has too many cells for the columns of a header: `maxCells`. Cells that are left out at its end are empty.
   */
  get problem(): string | undefined {
    if (!this.hasMore) return undefined;
    const before = this.text.slice(this.start, this.cellsEnd);
    const column = before.length - Math.max(before.lastIndexOf('\n'), before.lastIndexOf('\r')) + 1;
    const has = `The row has ${this.count} cells, but the header has ${this.maxCells} columns`;
    return `${has}. Cell ${this.maxCells + 1} begins at column ${column}. Quote cells that contain a delimiter`;
  }

  private plainCell(): void {
    const from = this.at;
    this.skipPlain();
    if (this.count >= this.maxCells) this.pass(this.at > from);
    else if (this.at > from && (this.count < this.maxTexts || !this.hasOtherContent))
      this.keep(this.text.slice(from, this.at));
    else this.keep('');
  }

  /** Moves to the next delimiter or line end outside quotes. */
  private skipPlain(): void {
    const { text, delimiter } = this;
    const { length } = text;
    let { at } = this;
    for (; at < length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === delimiter || code === lineFeed || code === carriageReturn) break;
    }
    this.at = at;
  }

  private quotedCell(): void {
    const { text } = this;
    const from = this.at + 1;
    const to = this.closingQuote(from);
    let content = text.slice(from, to);
    if (content.includes('"')) content = content.replaceAll('""', '"');
    this.at = Math.min(to + 1, text.length);
    this.isUnclosed = to === text.length;
    const afterQuote = this.at;
    this.skipPlain();
    // Text after the closing quote makes both quotes ordinary characters.
    if (this.at > afterQuote) content = `"${content}"${text.slice(afterQuote, this.at)}`;
    if (this.count < this.maxCells) this.keep(content);
    else this.pass(content !== '');
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
