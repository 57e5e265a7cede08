import { foldFieldName, shortenedText } from '../../contract/texts.js';
import { guessedIdName } from '../../files/notices/header-notices.js';
import type { FilePart, HeaderStart } from '../../files/reading/file-records.js';
import { InputFault } from '../../files/reading/input-fault.js';
import { tableRows } from '../../files/rows/table-rows.js';
import { valueOfCell } from '../../files/spreadsheet-cell.js';
import { meaningOf, type OutcomeWords, valueKey } from './converted-values.js';
import { columnIndexes, formatAdvice, hasNeeded, type OutcomeColumns } from './outcome-rows.js';

/** A column with more different values, or a longer one, holds no outcomes. */
const maxOutcomeValues = 50;
const maxValueLength = 100;
const maxRowsShown = 5;
const maxCellShown = 60;
const maxColumnsShown = 100;
const maxColumns = 1_000;

/** Names of the column with the outcome and of that with its date, folded, the most likely first. */
const likely = {
  converted: [
    ...['converted', 'isconverted', 'won', 'iswon', 'outcome', 'dealstage', 'stagename', 'stage', 'opportunitystage'],
    ...['salesstage', 'leadstatus', 'dealstatus', 'status', 'result'],
  ],
  at: [
    ...['at', 'convertedat', 'converteddate', 'conversiondate', 'wonat', 'wondate', 'wontime', 'closedat'],
    ...['closeddate', 'closedate', 'closed', 'closetime'],
  ],
} as const;

export interface PreviewOptions {
  /** The chosen columns; undefined before the choice. Then no values are counted. */
  readonly columns: OutcomeColumns | undefined;
  /** The values of the organisation. */
  readonly words: OutcomeWords;
  readonly part: FilePart;
  /** Rows after which the reading ends, blank ones included. */
  readonly maxRows: number;
  readonly optionText: (name: string) => string;
}

/** The values of an outcome column, and the rows of each. */
interface CountedValue {
  /** As the first of these rows has it. */
  readonly value: string;
  /** The same for values that are one, also in another part of the file. */
  readonly key: string;
  readonly rows: number;
  /** The likely meaning, for people to confirm. */
  readonly suggested: 'won' | 'lost' | null;
}

export interface OutcomePreview {
  readonly columns: readonly string[];
  /** Bytes of the text up to the end of the header. */
  readonly headerBytes: number;
  readonly firstRows: readonly (readonly string[])[];
  /** The likely columns. */
  readonly suggested: { readonly crm_id: string | null; readonly converted: string | null; readonly at: string | null };
  /** Rows with content. */
  readonly rows: number;
  /** Rows whose outcome is empty. */
  readonly withoutValue: number;
  /** Null for a column that has no outcomes. */
  readonly values: readonly CountedValue[] | null;
  /** Bytes of the text up to the end of the last row that was read; undefined if all was. */
  readonly endByte: number | undefined;
}

/**
 * Reads a file of outcomes, or a part of it, and stores nothing: its columns, its first rows, and the values of the
 * outcome column. It reads the rows that `importOutcomes` reads.
 * @param pieces UTF-8 without byte order mark
 * @throws InputFault as `importOutcomes`; errors of the pieces
 */
export async function previewOutcomes(
  pieces: AsyncIterable<Buffer>,
  { columns, words, part, maxRows, optionText }: PreviewOptions,
): Promise<OutcomePreview> {
  let header: { readonly names: readonly string[]; readonly endByte: number } = { names: [], endByte: 0 };
  let outcomeColumn: number | undefined;
  const rules = {
    ...{ part, formatAdvice, maxRows: Number.POSITIVE_INFINITY, onNotice: () => undefined },
    canBeHeader: columns && hasNeeded(columns),
    readHeader: async (names: readonly string[], start: HeaderStart) => {
      header = { names: names.map((name) => name.trim()), endByte: start.endByte };
      if (columns === undefined) return undefined;
      const { crmId, converted } = await columnIndexes(names, start, { columns, optionText });
      outcomeColumn = converted;
      return crmId;
    },
  };
  const values = new ValueCounts(words);
  const firstRows: string[][] = [];
  let [rows, read, passedByte, endByte, isWhole] = [0, 0, 0, 0, !part.goesOn];
  for await (const row of tableRows(pieces, rules)) {
    read += 1;
    passedByte = row.endByte;
    if (!row.isEmpty) {
      rows += 1;
      // Blank rows before a footer belong to the part that has the footer.
      endByte = row.endByte;
      if (firstRows.length < maxRowsShown) firstRows.push(shownCells(row.cells));
      if (outcomeColumn !== undefined && row.problem === undefined) values.add(row.cells[outcomeColumn] ?? '');
    }
    if (read < maxRows) continue;
    isWhole = false;
    break;
  }
  if (header.endByte === 0)
    throw new InputFault('The header is too long for this page. Shorten the names of the columns');
  const end = isWhole ? undefined : endByte || passedByte;
  if (end === 0 && columns !== undefined)
    throw new InputFault(`The row in line ${part.rowsLine ?? 2} is too long for this page. Shorten it`);
  const names = header.names.filter((name) => name !== '');
  return {
    columns: header.names.slice(0, maxColumns),
    headerBytes: header.endByte,
    firstRows,
    suggested: {
      crm_id: names.find((name) => foldFieldName(name) === 'crmid') ?? guessedIdName(names) ?? null,
      converted: likelyAmong(names, likely.converted),
      at: likelyAmong(names, likely.at),
    },
    rows,
    withoutValue: values.empty,
    values: values.all,
    endByte: end,
  };
}

const shownCells = (cells: readonly string[]): string[] =>
  cells.slice(0, maxColumnsShown).map((cell) => shortenedText(cell, maxCellShown));

function likelyAmong(names: readonly string[], wanted: readonly string[]): string | null {
  const folded = names.map((name) => ({ name, form: foldFieldName(name.slice(0, maxValueLength)) }));
  const found = wanted.map((each) => folded.find(({ form }) => form === each)).find((each) => each !== undefined);
  return found?.name ?? null;
}

/** Counts the values of an outcome column, until there are too many. */
class ValueCounts {
  empty = 0;
  private readonly counts = new Map<string, { readonly value: string; rows: number }>();
  private areTooMany = false;

  constructor(private readonly words: OutcomeWords) {}

  get all(): CountedValue[] | null {
    if (this.areTooMany) return null;
    return [...this.counts].map(([key, { value, rows }]) => ({ value, key, rows, suggested: this.suggestion(value) }));
  }

  add(cell: string): void {
    if (this.areTooMany) return;
    const value = valueOfCell(cell).trim();
    if (value === '') {
      this.empty += 1;
      return;
    }
    const key = valueKey(value);
    const known = this.counts.get(key);
    if (known !== undefined) known.rows += 1;
    else this.counts.set(key, { value, rows: 1 });
    this.areTooMany = this.counts.size > maxOutcomeValues || value.length > maxValueLength;
  }

  private suggestion(value: string): CountedValue['suggested'] {
    const meaning = meaningOf(value, this.words);
    const [isWon, isLost] = [/\bwon\b/i.test(value), /\blost\b/i.test(value)];
    if (meaning ?? (isWon && !isLost)) return 'won';
    return meaning === false || (isLost && !isWon) ? 'lost' : null;
  }
}
