import {
  addedColumns,
  addedPrefix,
  csvLine,
  reasonColumns,
  scoreColumns,
} from '../../../../shared/files/result-columns.js';
import { spreadsheetCell } from '../../../../shared/files/spreadsheet-cell.js';
import type { OutputStream } from '../../context/cli-context.js';
import type { RowOutcome, ScoreRow } from '../calls/api-reply.js';
import { crmIdOf } from '../calls/refused-records.js';
import type { ScoredBatch } from '../calls/score-batch.js';
import { byteOrderMark, type CsvHeader, type InputRecord, type RecordFormat } from '../input/input-file.js';
import type { GrowingFile } from '../progress/disk.js';

/** Writes to a stream and never closes it. */
export function streamOutput(stream: OutputStream): GrowingFile {
  let bytes = 0;
  return {
    get bytes() {
      return bytes;
    },
    write: async (text) => {
      bytes += Buffer.byteLength(text);
      if (stream.write(text)) return;
      await new Promise<void>((resolve) => stream.once('drain', resolve));
    },
    sync: async () => undefined,
    close: async () => undefined,
  };
}

/** The columns of the file that the output repeats, and how the added ones are named and separated. */
export interface KeptColumns extends CsvHeader {
  readonly prefix: string;
  readonly hasByteOrderMark: boolean;
}

/** The output is a .csv, in which programs expect no tabs between cells. */
export function keptColumns(
  { names, delimiter }: CsvHeader,
  { explain, hasByteOrderMark }: { readonly explain: boolean; readonly hasByteOrderMark: boolean },
): KeptColumns {
  const prefix = addedPrefix(names, addedColumns(explain));
  return { names, delimiter: delimiter === '\t' ? ',' : delimiter, prefix, hasByteOrderMark };
}

export interface OutputForm {
  readonly format: RecordFormat;
  readonly explain: boolean;
  /** Undefined: a line of a CSV has crm_id and row instead. */
  readonly kept: KeptColumns | undefined;
}

/** The header line of a CSV, or an empty string for JSONL. */
export function headerText({ format, explain, kept }: OutputForm): string {
  if (format === 'jsonl') return '';
  const added = addedColumns(explain);
  if (kept === undefined) return csvLine(['crm_id', 'row', ...added], ',');
  const line = csvLine([...kept.names, ...added.map((name) => kept.prefix + name)], kept.delimiter);
  return kept.hasByteOrderMark ? byteOrderMark + line : line;
}

/** Results of a batch, one line for each row. A JSONL line is the API's row with the row number of the file. */
export const scoredText = ({ batch, outcomes }: ScoredBatch, form: OutputForm): string =>
  batch.rows.map(({ record }, index) => lineOf(record, outcomes[index], form)).join('');

function lineOf(record: InputRecord, outcome: RowOutcome | undefined, { format, explain, kept }: OutputForm): string {
  const scored = outcome !== undefined && 'scored' in outcome ? outcome.scored : undefined;
  const error = outcome !== undefined && 'error' in outcome ? outcome.error : undefined;
  const { row, cells = [], text = '' } = record;
  // A result that was read back from a CSV has no crm_id.
  const crmId = kept === undefined ? (scored?.crm_id ?? crmIdOf(text)) : undefined;
  if (format === 'jsonl') {
    const id = crmId === undefined ? {} : { crm_id: crmId };
    return `${JSON.stringify({ row, ...(scored ?? { ...id, error }) })}\n`;
  }
  const added = [...scoreCells(scored, explain), error].map((cell) => spreadsheetCell(String(cell ?? '')));
  if (kept === undefined) return csvLine([spreadsheetCell(crmId ?? ''), String(row), ...added], ',');
  // A row with a problem may have lost its cells.
  const own = cells.length === kept.names.length ? cells : kept.names.map((_, index) => cells[index] ?? '');
  return csvLine([...own, ...added], kept.delimiter);
}

const scoreCells = (scored: ScoreRow | undefined, explain: boolean): unknown[] => [
  ...scoreColumns.map((name) => scored?.[name]),
  scored?.warnings?.join('; '),
  ...(explain ? reasonColumns.map((name) => scored?.[name]) : []),
];
