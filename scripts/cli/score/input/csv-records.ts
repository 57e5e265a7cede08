import { pipeline, Readable } from 'node:stream';
import { CsvError, type Info, parse } from 'csv-parse';
import { delimiterOf, firstLine } from '../../../../shared/files/csv-delimiter.js';
import { textOfCell } from '../../../../shared/files/spreadsheet-cell.js';
import type { CliError } from '../../context/cli-error.js';
import { badInput, type CsvHeader, type InputFile, type InputRecord, type RecordOptions } from './input-file.js';

/** A column that is sent. */
interface Column {
  readonly index: number;
  /** Its name as JSON, with the colon. */
  readonly key: string;
}

interface Header {
  readonly columns: readonly Column[];
  readonly crmIdColumn: number | undefined;
  /** Minimum cells of a row: up to the last named column. */
  readonly minCells: number;
  /** Number of columns, including those without a name. */
  readonly cells: number;
}

/**
 * Reads the records of a CSV file with a header line. All values are strings. Empty cells and columns without a name
 * are omitted.
 * @throws CliError that names the invalid line
 */
export async function* csvRecords(input: InputFile, options: RecordOptions): AsyncGenerator<InputRecord> {
  let header: Header | undefined;
  let row = 0;
  for await (const { cells, line, endByte, delimiter } of csvRows(input)) {
    if (header !== undefined) {
      row += 1;
      const text = recordText(cells, header, `${input.name}, line ${line}`);
      const kept = text === undefined ? {} : { cells: atLength(cells, header.cells) };
      yield { row, line, text, ...kept, endByte };
    } else if (!isBlank(cells)) {
      header = readHeader({ names: cells, delimiter }, { input, options });
    }
  }
  if (header === undefined) throw emptyCsv(input);
}

/** Fills a short row, and cuts off empty cells beyond the header: `recordText` allows both. */
function atLength(cells: readonly string[], length: number): readonly string[] {
  if (cells.length === length) return cells;
  return Array.from({ length }, (_, index) => cells[index] ?? '');
}

function readHeader(
  header: CsvHeader,
  { input, options }: { readonly input: InputFile; readonly options: RecordOptions },
): Header {
  const { names: cells } = header;
  const named = cells.flatMap((name, index) => (name.trim() === '' ? [] : [{ name, index }]));
  const names = named.map((column) => column.name);
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined)
    throw badInput(
      `${input.name}: two columns have the name ${JSON.stringify(repeated)}. Rename or remove one of them`,
    );
  const wanted = options.crmIdField ?? 'crm_id';
  const crmIdColumn = named.find((column) => column.name === wanted)?.index;
  if (crmIdColumn === undefined && options.crmIdField !== undefined) throw noSuchColumn(input, wanted, names);
  // With --crm-id, a column called crm_id would produce a second crm_id.
  const fields = named.filter(({ name, index }) => index !== crmIdColumn && name !== 'crm_id');
  options.onHeader?.(header);
  options.onNames?.([...fields.map(({ name }) => name), ...(crmIdColumn === undefined ? [] : ['crm_id'])]);
  return {
    columns: fields.map(({ name, index }) => ({ index, key: `${JSON.stringify(name)}:` })),
    crmIdColumn,
    minCells: (named.at(-1)?.index ?? 0) + 1,
    cells: cells.length,
  };
}

function recordText(cells: readonly string[], header: Header, place: string): string | undefined {
  if (isBlank(cells)) return undefined;
  const tooFew = cells.length < header.minCells;
  if (tooFew || cells.slice(header.cells).some((cell) => cell !== ''))
    throw badInput(
      `${place} has ${cells.length} cells, but the header has ${header.cells} columns. Quote cells that contain a line break or a delimiter`,
    );
  const members: string[] = [];
  for (const { index, key } of header.columns) {
    const cell = cells[index];
    if (cell !== undefined && cell !== '') members.push(key + JSON.stringify(cell));
  }
  const crmId = header.crmIdColumn === undefined ? '' : textOfCell(cells[header.crmIdColumn] ?? '');
  if (crmId !== '') members.push(`"crm_id":${JSON.stringify(crmId)}`);
  return `{${members.join(',')}}`;
}

const isBlank = (cells: readonly string[]): boolean => cells.every((cell) => cell === '');

function noSuchColumn(input: InputFile, wanted: string, names: readonly string[]): CliError {
  const shown = names.slice(0, 12).map((name) => JSON.stringify(name));
  const more = names.length > shown.length ? `, and ${names.length - shown.length} more` : '';
  return badInput(`${input.name} has no column "${wanted}". Existing columns: ${shown.join(', ')}${more}`);
}

/** Bytes; a longer row must have an unclosed quote, because a call takes at most 8 MiB. */
const maxRowBytes = 8 * 1024 * 1024;

/** A row of a CSV file, including the header. */
export interface CsvRow {
  readonly cells: readonly string[];
  readonly delimiter: string;
  /** First line of the row, from 1. */
  readonly line: number;
  /** Bytes of the inflated file up to the end of the row. */
  readonly endByte: number;
}

/**
 * Reads the rows of a CSV file. The delimiter is detected, and quoted cells may contain line breaks.
 * @throws CliError that names the place of the error
 */
export async function* csvRows(input: InputFile): AsyncGenerator<CsvRow> {
  const { delimiter, texts } = await peekDelimiter(input.texts());
  const parser = parse({
    delimiter,
    info: true,
    relax_column_count: true,
    relax_quotes: true,
    max_record_size: maxRowBytes,
  });
  // The loop below receives every error of the pipeline through the parser.
  pipeline(Readable.from(texts()), parser, () => undefined);
  let line = 1;
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: Info }>) {
      yield { cells: record, delimiter, line, endByte: info.bytes };
      line = info.lines + 1;
    }
  } catch (error) {
    throw error instanceof CsvError ? unreadable(error, input) : error;
  }
}

export const emptyCsv = (input: InputFile): CliError =>
  badInput(`${input.name} is empty. A CSV file needs a header line`);

/** An unclosed quote is only detected at the end of the file or of the size limit, so its line number is useless. */
function unreadable(error: CsvError, input: InputFile): CliError {
  if (error.code === 'CSV_QUOTE_NOT_CLOSED' || error.code === 'CSV_MAX_RECORD_SIZE')
    return badInput(`${input.name}, row ${String(error.records)}: unclosed quote`);
  return badInput(`${input.name}: ${error.message}`);
}

const maxHeaderLength = 1024 * 1024; // characters

/** The detected delimiter, and the complete text from the beginning. */
export interface Peeked {
  readonly delimiter: string;
  texts(): AsyncGenerator<string>;
}

/** Detects the delimiter by the header. */
export async function peekDelimiter(texts: AsyncGenerator<string>): Promise<Peeked> {
  let seen = '';
  let header: string | undefined;
  while (header === undefined && seen.length < maxHeaderLength) {
    const next = await texts.next();
    if (next.done === true) break;
    seen += next.value;
    header = firstLine(seen);
  }
  return {
    delimiter: delimiterOf(header ?? seen),
    async *texts() {
      yield seen;
      yield* texts;
    },
  };
}
