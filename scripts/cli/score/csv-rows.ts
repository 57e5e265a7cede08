import { pipeline, Readable } from 'node:stream';
import { CsvError, type Info, parse } from 'csv-parse';
import type { CliError } from '../cli-error.js';
import { peekDelimiter } from './csv-delimiter.js';
import { badInput, type InputFile } from './input-file.js';

/** A cell that runs on for longer was begun with a quote that nothing ends. */
const longestRecord = 8 * 1024 * 1024;

/** A row of a CSV file, the one with the column names too. */
export interface CsvRow {
  readonly cells: readonly string[];
  /** The line on which it begins; from 1. */
  readonly line: number;
  /** Bytes of the file up to its end. */
  readonly endByte: number;
}

/**
 * The rows of a CSV file, as they are written. The delimiter is found out; quotes may enclose line ends.
 * @throws CliError naming where the file cannot be read
 */
export async function* csvRows(input: InputFile): AsyncGenerator<CsvRow> {
  const { delimiter, texts } = await peekDelimiter(input.texts());
  const parser = parse({
    delimiter,
    info: true,
    relax_column_count: true,
    relax_quotes: true,
    max_record_size: longestRecord,
  });
  // What goes wrong anywhere in the pipeline reaches the loop below through the parser.
  pipeline(Readable.from(texts()), parser, () => undefined);
  let line = 1;
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: Info }>) {
      yield { cells: record, line, endByte: info.bytes };
      line = info.lines + 1;
    }
  } catch (error) {
    throw error instanceof CsvError ? unreadable(error, input) : error;
  }
}

/** What is wrong with a file in which not even the column names are found. */
export const emptyCsv = (input: InputFile): CliError =>
  badInput(`${input.name} is empty: a CSV begins with a line of column names`);

/** A quote that nothing ends is found at the end of the file, or of what fits: the line of that says nothing. */
function unreadable(error: CsvError, input: InputFile): CliError {
  if (error.code === 'CSV_QUOTE_NOT_CLOSED' || error.code === 'CSV_MAX_RECORD_SIZE')
    return badInput(`${input.name}, row ${String(error.records)}: a quote is opened that nothing closes`);
  return badInput(`${input.name}: ${error.message}`);
}
