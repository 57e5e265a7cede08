import {
  columnOf,
  firstOfEach,
  noKnownColumn,
  noSuchColumn,
  refuseRepeated,
  shownName,
} from '../../../../shared/files/reading/csv-columns.js';
import type { CanBeHeader } from '../../../../shared/files/reading/csv-start.js';
import type { HeaderStart } from '../../../../shared/files/reading/file-records.js';
import { idOfText } from '../../../../shared/files/reading/row-ids.js';
import { valueOfCell } from '../../../../shared/files/spreadsheet-cell.js';
import type { InputFile, InputRecord, RecordOptions } from './input-file.js';
import { tableRows } from './table-rows.js';

interface Header {
  /** The columns that are sent: the index, and the name as JSON, with the colon. */
  readonly columns: readonly { readonly index: number; readonly key: string }[];
  readonly crmIdColumn: number | undefined;
}

/**
 * Reads the records of a CSV file with a header line. All values are strings. Empty cells and columns without a name
 * are omitted.
 * @throws CliError that names the position of the fault
 */
export async function* csvRecords(input: InputFile, options: RecordOptions): AsyncGenerator<InputRecord> {
  let header: Header = { columns: [], crmIdColumn: undefined };
  const rules = {
    canBeHeader: canBeHeader(options),
    fields: options.fields,
    onNotice: options.onNotice,
    readHeader: async (names: readonly string[], start: HeaderStart) => {
      header = await readHeader(names, start, options);
      options.onHeader?.({ names, delimiter: start.delimiter });
      options.onNames?.(sentNames(names, header));
      return header.crmIdColumn;
    },
  };
  let row = 0;
  for await (const { cells, line, endByte, isEmpty, problem } of tableRows(input, rules)) {
    row += 1;
    if (isEmpty) {
      yield { row, line, text: undefined, endByte };
      continue;
    }
    const read =
      header.crmIdColumn === undefined ? { id: null } : idOfText(valueOfCell(cells[header.crmIdColumn] ?? ''));
    const fault = problem ?? ('problem' in read ? read.problem : undefined);
    if (fault !== undefined || !('id' in read)) {
      yield { row, line, text: undefined, ...(fault !== undefined && { problem: fault }), cells, endByte };
      continue;
    }
    if (read.id !== null) options.onCrmId?.(read.id, line);
    yield { row, line, text: recordText(cells, header, read.id), cells, endByte };
  }
}

async function readHeader(
  names: readonly string[],
  { line, delimiter }: HeaderStart,
  options: RecordOptions,
): Promise<Header> {
  const { crmIdField, fields } = options;
  const wanted = crmIdField ?? 'crm_id';
  const crmIdColumn = await columnOf(names, { wanted, line, purpose: 'crm_id' });
  if (crmIdColumn === undefined && crmIdField !== undefined)
    throw noSuchColumn(`column ${shownName(wanted)}`, { names: named(names), line, delimiter });
  const sent = fields?.sentNames();
  const isRead = sent === undefined ? undefined : (name: string) => sent.targetsOf(name).length > 0;
  refuseRepeated(names, { line, isRead });
  // With --crm-id, a column called crm_id would produce a second crm_id.
  const columns = firstOfEach(names).filter(({ name, index }) => index !== crmIdColumn && name !== 'crm_id');
  // A file of ids alone scores known leads again, from their earlier values.
  const hasIdsAlone = crmIdColumn !== undefined && columns.length === 0;
  if (fields !== undefined && !hasIdsAlone && !columns.some(({ name }) => isRead?.(name)))
    throw noKnownColumn({ names: named(names), line, delimiter }, fields);
  return { columns: columns.map(({ name, index }) => ({ index, key: `${JSON.stringify(name)}:` })), crmIdColumn };
}

const named = (names: readonly string[]): string[] => names.filter((name) => name.trim() !== '');

/** The names under which values are sent. */
const sentNames = (names: readonly string[], { columns, crmIdColumn }: Header): string[] => [
  ...columns.map(({ index }) => names[index] ?? ''),
  ...(crmIdColumn === undefined ? [] : ['crm_id']),
];

/** A header has a column that the model knows, or else the column that --crm-id names. */
function canBeHeader({ fields, crmIdField }: RecordOptions): CanBeHeader | undefined {
  const sent = fields?.sentNames();
  if (sent !== undefined) return (names) => names.some((name) => sent.targetsOf(name).length > 0);
  return crmIdField === undefined ? undefined : (names) => names.includes(crmIdField);
}

function recordText(cells: readonly string[], { columns }: Header, crmId: string | null): string {
  const members: string[] = [];
  for (const { index, key } of columns) {
    const cell = valueOfCell(cells[index] ?? '');
    if (cell !== '') members.push(key + JSON.stringify(cell));
  }
  if (crmId !== null) members.push(`"crm_id":${JSON.stringify(crmId)}`);
  return `{${members.join(',')}}`;
}
