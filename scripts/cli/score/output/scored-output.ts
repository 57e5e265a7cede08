import { type FileHandle, open } from 'node:fs/promises';
import { addedPrefix, csvLine, reasonColumns, scoreColumns } from '../../../../shared/files/result-columns.js';
import { spreadsheetCell } from '../../../../shared/files/spreadsheet-cell.js';
import type { OutputStream } from '../../context/cli-context.js';
import { unwritable } from '../../context/cli-error.js';
import type { ScoreRow } from '../calls/api-reply.js';
import type { ScoredBatch } from '../calls/score-batch.js';
import { byteOrderMark, type CsvHeader, type RecordFormat } from '../input/input-file.js';

/** Destination of the results. */
export interface ScoredOutput {
  /** Bytes written so far, including earlier runs. */
  readonly bytes: number;
  write(text: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens an output file.
 * @param from bytes to keep; the rest is cut off. With 0 the file must not exist, unless `overwrite`
 * @throws the system error when the file cannot be opened. Its `write` throws CliError
 */
export async function fileOutput(
  path: string,
  { from, overwrite }: { readonly from: number; readonly overwrite: boolean },
): Promise<ScoredOutput> {
  const flags = from > 0 ? 'r+' : overwrite ? 'w' : 'wx';
  const file = await open(path, flags);
  await file.truncate(from);
  return new FileOutput(file, path, from);
}

class FileOutput implements ScoredOutput {
  constructor(
    private readonly file: FileHandle,
    private readonly path: string,
    public bytes: number,
  ) {}

  async write(text: string): Promise<void> {
    const buffer = Buffer.from(text);
    let offset = 0;
    while (offset < buffer.length) {
      const { bytesWritten } = await this.file
        .write(buffer, offset, buffer.length - offset, this.bytes + offset)
        .catch((error: unknown) => {
          throw unwritable(this.path, error);
        });
      offset += bytesWritten;
    }
    this.bytes += buffer.length;
  }

  close(): Promise<void> {
    return this.file.close();
  }
}

/** Writes to a stream and never closes it. */
export function streamOutput(stream: OutputStream): ScoredOutput {
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
    close: async () => undefined,
  };
}

const addedColumns = (explain: boolean): string[] => [...scoreColumns, 'warnings', ...(explain ? reasonColumns : [])];

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

/** Results of a batch, one line per record. A JSONL line is the API's row with the row number of the file. */
export function scoredText({ batch, rows }: ScoredBatch, { format, explain, kept }: OutputForm): string {
  const lines = rows.map((scored, index) => {
    const { row = 0, cells = [] } = batch.records[index] ?? {};
    if (format === 'jsonl') return `${JSON.stringify({ row, ...scored })}\n`;
    const added = addedCells(scored, explain);
    if (kept !== undefined) return csvLine([...cells, ...added], kept.delimiter);
    return csvLine([spreadsheetCell(scored.crm_id ?? ''), String(row), ...added], ',');
  });
  return lines.join('');
}

function addedCells(scored: ScoreRow, explain: boolean): string[] {
  const cells = [
    ...scoreColumns.map((name) => scored[name]),
    scored.warnings?.join('; '),
    ...(explain ? reasonColumns.map((name) => scored[name]) : []),
  ];
  return cells.map((cell) => spreadsheetCell(String(cell ?? '')));
}
