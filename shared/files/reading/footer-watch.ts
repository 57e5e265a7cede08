import type { CsvRows } from '../csv-rows.js';

/** The footer of a report: lines of one cell, after an empty line, up to the end of the file. */
export interface Footer {
  /** Number of its first row, from 1 without the header. */
  readonly row: number;
  readonly line: number;
  readonly lastLine: number;
}

/** `one` has text in its first cell alone. */
export type RowKind = 'blank' | 'one' | 'other';

/** The kind of the current row. A row with too many cells for the header is `other`. */
export function kindOfRow(row: Pick<CsvRows, 'cells' | 'isBlank' | 'hasMore' | 'hasOther'>): RowKind {
  if (row.isBlank) return 'blank';
  const isOther = row.hasMore || row.hasOther || row.cells.findLastIndex((cell) => cell !== '') !== 0;
  return isOther ? 'other' : 'one';
}

export interface SeenRow {
  readonly row: number;
  readonly line: number;
  /** The first cell. */
  readonly text: string;
}

const maxLines = 100;

/** Finds the footer of a CSV of at least two columns, row by row. */
export class FooterWatch {
  private isAfterBlank = false;
  private candidate: { first: SeenRow; last: SeenRow; lines: number; hasSentence: boolean } | undefined;

  /** Whether the rows since the last empty one are perhaps a footer. */
  get isOpen(): boolean {
    return this.candidate !== undefined;
  }

  /** The footer, after the last row. A lead may have its id alone, so one line at least must have several words. */
  get footer(): Footer | undefined {
    const { candidate } = this;
    if (candidate?.hasSentence !== true) return undefined;
    return { row: candidate.first.row, line: candidate.first.line, lastLine: candidate.last.line };
  }

  see(kind: RowKind, seen: SeenRow): void {
    if (kind === 'blank') {
      this.isAfterBlank = true;
      return;
    }
    const { candidate } = this;
    const isExpected = this.isAfterBlank || candidate !== undefined;
    if (kind === 'other' || !isExpected || candidate?.lines === maxLines) {
      this.isAfterBlank = false;
      this.candidate = undefined;
      return;
    }
    const hasSentence = /\S\s+\S/.test(seen.text);
    this.candidate = {
      first: candidate?.first ?? seen,
      last: seen,
      lines: (candidate?.lines ?? 0) + 1,
      hasSentence: hasSentence || candidate?.hasSentence === true,
    };
  }
}

/** The notice about a footer. */
export const footerNotice = ({ line, lastLine }: Footer): string =>
  line === lastLine
    ? `Line ${line} is the footer of a report and was passed over`
    : `Lines ${line} to ${lastLine} are the footer of a report and were passed over`;
