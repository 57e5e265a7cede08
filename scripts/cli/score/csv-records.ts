import type { CliError } from '../cli-error.js';
import { csvRows, emptyCsv } from './csv-rows.js';
import { badInput, type InputFile } from './input-file.js';
import type { InputRecord, RecordOptions } from './input-record.js';

/** A column that is sent: where it stands, and its name as JSON with the colon. */
interface Column {
  readonly index: number;
  readonly key: string;
}

interface Header {
  readonly columns: readonly Column[];
  readonly crmIdColumn: number | undefined;
  /** Cells that a row has at least: up to the last column with a name. */
  readonly leastCells: number;
  /** All columns, those without a name too. */
  readonly cells: number;
}

/**
 * The records of a CSV file with a header line. Cells are texts, as they are written; empty ones are left out, and so
 * are columns without a name. The delimiter is found out; quotes may enclose line ends.
 * @throws CliError naming the line that cannot be read
 */
export async function* csvRecords(input: InputFile, options: RecordOptions): AsyncGenerator<InputRecord> {
  let header: Header | undefined;
  let row = 0;
  for await (const { cells, line, endByte } of csvRows(input)) {
    if (header !== undefined) {
      row += 1;
      yield { row, line, text: recordText(cells, header, `${input.name}, line ${line}`), endByte };
    } else if (!isBlank(cells)) {
      header = readHeader(cells, { input, options });
    }
  }
  if (header === undefined) throw emptyCsv(input);
}

function readHeader(
  cells: readonly string[],
  { input, options }: { readonly input: InputFile; readonly options: RecordOptions },
): Header {
  const named = cells.flatMap((name, index) => (name.trim() === '' ? [] : [{ name, index }]));
  const names = named.map((column) => column.name);
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined)
    throw badInput(
      `${input.name}: two columns are called ${JSON.stringify(repeated)}. Rename or remove one of them`,
    );
  const wanted = options.crmIdField ?? 'crm_id';
  const crmIdColumn = named.find((column) => column.name === wanted)?.index;
  if (crmIdColumn === undefined && options.crmIdField !== undefined) throw noSuchColumn(input, wanted, names);
  // A column called crm_id beside the one that was named would be a second crm_id.
  const fields = named.filter(({ name, index }) => index !== crmIdColumn && name !== 'crm_id');
  options.onNames?.([...fields.map(({ name }) => name), ...(crmIdColumn === undefined ? [] : ['crm_id'])]);
  return {
    columns: fields.map(({ name, index }) => ({ index, key: `${JSON.stringify(name)}:` })),
    crmIdColumn,
    leastCells: (named.at(-1)?.index ?? 0) + 1,
    cells: cells.length,
  };
}

function recordText(cells: readonly string[], header: Header, place: string): string | undefined {
  if (isBlank(cells)) return undefined;
  const tooFew = cells.length < header.leastCells;
  if (tooFew || cells.slice(header.cells).some((cell) => cell !== ''))
    throw badInput(
      `${place} has ${cells.length} cells, but the header has ${header.cells} columns. A line end or a delimiter inside a cell must stand within quotes`,
    );
  const members: string[] = [];
  for (const { index, key } of header.columns) {
    const cell = cells[index];
    if (cell !== undefined && cell !== '') members.push(key + JSON.stringify(cell));
  }
  const crmId = header.crmIdColumn === undefined ? '' : (cells[header.crmIdColumn] ?? '');
  if (crmId !== '') members.push(`"crm_id":${JSON.stringify(crmId)}`);
  return `{${members.join(',')}}`;
}

const isBlank = (cells: readonly string[]): boolean => cells.every((cell) => cell === '');

function noSuchColumn(input: InputFile, wanted: string, names: readonly string[]): CliError {
  const shown = names.slice(0, 12).map((name) => JSON.stringify(name));
  const more = names.length > shown.length ? `, and ${names.length - shown.length} more` : '';
  return badInput(`${input.name} has no column "${wanted}". It has: ${shown.join(', ')}${more}`);
}
