import { type FileHandle, open } from 'node:fs/promises';
import { csvCell, spreadsheetCell } from '../../../../shared/files/spreadsheet-cell.js';
import type { OutputStream } from '../../context/cli-context.js';
import { unwritable } from '../../context/cli-error.js';
import type { ScoreRow } from '../calls/api-reply.js';
import type { ScoredBatch } from '../calls/score-batch.js';
import type { RecordFormat } from '../input/input-file.js';

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

const columns = [
  'crm_id',
  'row',
  'score',
  'conversion_likelihood',
  'enriched',
  'previous_score',
  'delta',
  'warnings',
] as const;
const reasonColumns = ['top_reason_1', 'top_reason_2', 'top_reason_3'] as const;

export interface OutputForm {
  readonly format: RecordFormat;
  readonly explain: boolean;
}

/** The header line of a CSV, or an empty string for JSONL. */
export const headerText = ({ format, explain }: OutputForm): string =>
  format === 'jsonl' ? '' : `${[...columns, ...(explain ? reasonColumns : [])].join(',')}\n`;

/** Results of a batch, one line per record. A JSONL line is the API's row with the row number of the file. */
export function scoredText({ batch, rows }: ScoredBatch, form: OutputForm): string {
  const lines = rows.map((scored, index) => {
    const row = batch.records[index]?.row ?? 0;
    return form.format === 'jsonl' ? JSON.stringify({ row, ...scored }) : csvLine(scored, row, form);
  });
  return lines.map((line) => `${line}\n`).join('');
}

function csvLine(scored: ScoreRow, row: number, { explain }: OutputForm): string {
  const cells = [
    scored.crm_id,
    row,
    scored.score,
    scored.conversion_likelihood,
    scored.enriched,
    scored.previous_score,
    scored.delta,
    scored.warnings?.join('; '),
    ...(explain ? reasonColumns.map((name) => scored[name]) : []),
  ];
  return cells.map((cell) => csvCell(spreadsheetCell(String(cell ?? '')))).join(',');
}
