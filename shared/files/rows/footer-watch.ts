import { countText } from '../../contract/figures.js';
import type { CsvRows } from '../csv-rows.js';

/**
 * The footer of a report, up to the end of the file. It has totals, lines that begin with a label, and lines of one
 * cell after an empty line.
 */
export interface Footer {
  /** Number of its first row, from 1 without the header. */
  readonly row: number;
  readonly line: number;
  readonly lastLine: number;
}

/**
 * `one` has text in its first cell alone. `total` begins with a word for totals, and `label` with a text that ends in a
 * colon. `header` is the header once more.
 */
export type RowKind = 'blank' | 'one' | 'total' | 'label' | 'header' | 'other';

/** Whether the current row has content, and in which cells. One with too many cells for the header is `other`. */
export function kindOfRow(
  row: Pick<CsvRows, 'cells' | 'isBlank' | 'hasMore' | 'hasOther'>,
): Extract<RowKind, 'blank' | 'one' | 'other'> {
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
  /** Totals since the last row that is none. */
  private totals: SeenRow[] = [];
  /** Totals before other rows. */
  private earlierTotals = { rows: 0, line: 0 };

  /** Whether the last rows are perhaps a footer. */
  get isOpen(): boolean {
    return this.candidate !== undefined;
  }

  /**
   * The footer, after the last row. A lead may have its id alone, so one line at least must have several words, or be a
   * total or a label.
   */
  get footer(): Footer | undefined {
    const { candidate } = this;
    if (candidate?.hasSentence !== true) return undefined;
    return { row: candidate.first.row, line: candidate.first.line, lastLine: candidate.last.line };
  }

  /** The sentence about rows that look like totals and are read as leads; undefined without one. */
  get totalsNotice(): string | undefined {
    const { rows, line } = this.earlierTotals;
    if (rows === 0) return undefined;
    if (rows === 1) return `Line ${line} looks like a total and is read as a lead. Delete it if it is one`;
    return `${countText(rows)} rows look like totals and are read as leads, first in line ${line}. Delete them if they are totals`;
  }

  see(kind: RowKind, seen: SeenRow): void {
    if (kind === 'blank') {
      this.isAfterBlank = true;
      return;
    }
    const { candidate } = this;
    const isSure = kind === 'total' || kind === 'label';
    const isExpected = this.isAfterBlank || candidate !== undefined || isSure;
    if (kind === 'other' || kind === 'header' || !isExpected || candidate?.lines === maxLines) {
      this.drop();
      return;
    }
    if (kind === 'total') this.totals.push(seen);
    const hasSentence = isSure || /\S\s+\S/.test(seen.text);
    this.candidate = {
      first: candidate?.first ?? seen,
      last: seen,
      lines: (candidate?.lines ?? 0) + 1,
      hasSentence: hasSentence || candidate?.hasSentence === true,
    };
  }

  private drop(): void {
    this.isAfterBlank = false;
    this.candidate = undefined;
    if (this.totals.length === 0) return;
    if (this.earlierTotals.rows === 0) this.earlierTotals.line = this.totals[0]?.line ?? 0;
    this.earlierTotals.rows += this.totals.length;
    this.totals = [];
  }
}

/** The notice about a footer. */
export const footerNotice = ({ line, lastLine }: Footer): string =>
  line === lastLine
    ? `Line ${line} is the footer of a report and was passed over`
    : `Lines ${line} to ${lastLine} are the footer of a report and were passed over`;
