import { setImmediate as nextStep } from 'node:timers/promises';
import { ApiError } from '../../../shared/contract/errors.js';
import { CsvRows } from '../../../shared/files/csv-rows.js';
import type { FileShape } from '../../../shared/files/file-form.js';
import { knownAmong, nestedProblem } from '../../../shared/files/other-format.js';
import { firstOfEach } from '../../../shared/files/reading/csv-columns.js';
import type { CanBeHeader } from '../../../shared/files/reading/csv-start.js';
import { IdMember, idOfJson, idOfText } from '../../../shared/files/reading/row-ids.js';
import { oddRowProblem, repeatsHeader } from '../../../shared/files/rows/odd-rows.js';
import { valueOfCell } from '../../../shared/files/spreadsheet-cell.js';
import type { KnownFields } from '../../../shared/messages/field-slots.js';
import { type CallRecord, idOfRecord } from '../../call/scoring-call.js';
import { sentNamesOf } from '../../dispatch/field-names.js';
import { boundValues, maxValues, parseJson } from '../../request/parse-json.js';

/** Why a row cannot be scored. */
export interface RowProblem {
  /** The column or member; empty when the problem is the row itself. */
  readonly field: string;
  readonly message: string;
}

/** A row of a slice. An empty row has neither a record nor a problem. */
export interface ParsedRow {
  /** Its number in the file, from 1, without the header. */
  readonly row: number;
  /** Its first line in the file, from 1. */
  readonly line: number;
  /** The row as in the file, without its line end. */
  readonly text: string;
  /** The row as results show it: the cells of the header's columns, or JSON. */
  readonly input: string;
  readonly crmId: string | null;
  /** The record to score: of a CSV it is packed, of JSONL it has fields. Undefined when the row is not scored. */
  readonly record: CallRecord | undefined;
  readonly problem: RowProblem | undefined;
}

/** Numbers of the first row of a slice in the file, and of its first line. */
export interface SliceStart {
  readonly row: number;
  readonly line: number;
}

/** Characters of rows that are parsed in one step. With twenty columns they take 3 ms. */
const stepCharacters = 256 * 1024;

/** How the rows of a file are read: its shape, and the fields of the model that scores them. */
export interface RowForm {
  readonly shape: FileShape;
  readonly knownFields: KnownFields;
}

/**
 * Parses an inflated slice, with pauses for other work.
 * @param first its first row and line in the file
 */
export async function parseRows(bytes: Uint8Array, form: RowForm, first: SliceStart): Promise<ParsedRow[]> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  await nextStep();
  return form.shape.format === 'csv' ? await parseCsv(text, form, first) : await parseJsonl(text, form, first);
}

/** The fate of a row: see `ParsedRow`. */
type Fate = Pick<ParsedRow, 'crmId' | 'record' | 'problem'>;

const emptyRow: Fate = { crmId: null, record: undefined, problem: undefined };
const failed = (field: string, message: string, crmId: string | null = null): Fate => ({
  crmId,
  record: undefined,
  problem: { field, message },
});

async function parseCsv(text: string, { shape, knownFields }: RowForm, first: SliceStart): Promise<ParsedRow[]> {
  const { columns, delimiter, surplus = 0 } = shape;
  const read = await csvReader(shape, knownFields);
  const cells = new CsvRows(text, { delimiter, maxCells: columns.length, firstLine: first.line, surplus });
  const footerRow = shape.footer?.row ?? Number.POSITIVE_INFINITY;
  const rows: ParsedRow[] = [];
  for (let pauseAt = stepCharacters; cells.next(); ) {
    const { start, end, cellsEnd, count, line } = cells;
    const whole = text.slice(start, end);
    const missing = columns.length - count;
    const input = missing > 0 ? whole + delimiter.repeat(missing) : missing < 0 ? text.slice(start, cellsEnd) : whole;
    const row = first.row + rows.length;
    rows.push({ row, line, text: whole, input, ...(row < footerRow ? read(cells, row) : emptyRow) });
    if (end < pauseAt) continue;
    await nextStep();
    pauseAt = end + stepCharacters;
  }
  return rows;
}

/**
 * Compiles a reader of rows. It packs their cells at once, because objects of all cells would wait in memory for the
 * scores.
 * @returns a function that reads the current row of `CsvRows`, by its number in the file
 */
async function csvReader(
  { columns, crm_id_field: crmIdField }: FileShape,
  knownFields: KnownFields,
): Promise<(row: CsvRows, number: number) => Fate> {
  const named = firstOfEach(columns);
  const crmIdColumn = named.find(({ name }) => name === crmIdField)?.index;
  // With another column for the crm_id, a column called crm_id would produce a second crm_id.
  const sent = named.filter(({ name, index }) => index !== crmIdColumn && name !== 'crm_id');
  if (crmIdColumn !== undefined) sent.push({ name: 'crm_id', index: crmIdColumn });
  // A header may have 20,000 names: they are matched in steps, as those of a record are.
  const header = Object.fromEntries(sent.map(({ name }) => [name, '']));
  const names = await sentNamesOf({ records: [{ crmId: null, fields: header }], tolerant: true }, knownFields);
  const pack = knownFields.packerOf(sent, names);
  return (row, number) => {
    if (row.isBlank) return emptyRow;
    const { cells } = row;
    if (repeatsHeader(cells, columns, number)) return emptyRow;
    const read = crmIdColumn === undefined ? { id: null } : idOfText(valueOfCell(cells[crmIdColumn] ?? ''));
    const usableId = 'id' in read ? read.id : null;
    const problem = row.problem ?? oddRowProblem(cells, { number, idColumn: crmIdColumn });
    if (problem !== undefined) return failed('', problem, usableId);
    if ('problem' in read) return failed(crmIdField ?? 'crm_id', read.problem);
    if (row.hasOddCell) for (let at = 0; at < cells.length; at += 1) cells[at] = valueOfCell(cells[at] ?? '');
    // A field of the model may be the crm_id, without what is no id.
    if (crmIdColumn !== undefined && crmIdColumn < cells.length) cells[crmIdColumn] = usableId ?? '';
    const packed = JSON.stringify(pack(cells));
    return { crmId: usableId, record: { ...idOf(usableId), fields: noFields, packed }, problem: undefined };
  };
}

const noFields = {};
const idOf = (crmId: string | null) => (crmId === null ? { crmId } : idOfRecord(crmId));

async function parseJsonl(text: string, { shape, knownFields }: RowForm, first: SliceStart): Promise<ParsedRow[]> {
  const idMember = new IdMember(shape.crm_id_field);
  const isKnown = knownAmong(knownFields);
  const rows: ParsedRow[] = [];
  // Most files have only one of the two. Without the kept position, each line would search the rest for the other.
  let [lineFeed, carriageReturn] = [-1, -1];
  for (let from = 0, pauseAt = stepCharacters; from < text.length; ) {
    if (lineFeed < from) lineFeed = indexIn(text, '\n', from);
    if (carriageReturn < from) carriageReturn = indexIn(text, '\r', from);
    const to = Math.min(lineFeed, carriageReturn);
    const line = text.slice(from, to);
    const numbers = { row: first.row + rows.length, line: first.line + rows.length };
    rows.push({ ...numbers, text: line, ...(await readJson(line, idMember, isKnown)) });
    from = to + (text.startsWith('\r\n', to) ? 2 : 1);
    if (from < pauseAt) continue;
    await nextStep();
    pauseAt = from + stepCharacters;
  }
  return rows;
}

/** The position of a character; the end of the text without one. */
function indexIn(text: string, character: string, from: number): number {
  const at = text.indexOf(character, from);
  return at === -1 ? text.length : at;
}

/**
 * Reads a line of JSON. A long one takes pauses for other work.
 * @param isKnown whether the model knows some names; absent to read only the crm_id
 */
async function readJson(
  line: string,
  idMember: IdMember,
  isKnown?: CanBeHeader,
): Promise<Fate & Pick<ParsedRow, 'input'>> {
  const input = line.trim();
  if (input === '') return { input: 'null', ...emptyRow };
  let value: unknown;
  try {
    const { ofRecord: max } = maxValues;
    // A short line cannot have too many values, and a thousand promises would cost a millisecond.
    if (input.length > 2 * max) await boundValues(input, { max, advice: 'send fewer fields' });
    value = parseJson(input);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const message = error.message.replace('The body', 'The line').replace('in the body', 'in the line');
    return { input: JSON.stringify(input.toWellFormed()), ...failed('', message.replace(/\.$/, '')) };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { input, ...failed('', 'The line is not a JSON object. Write one record in each line') };
  const nested = nestedProblem(value as Record<string, unknown>, { text: input, isKnown });
  if (nested !== undefined) return { input, ...failed('', nested) };
  return { input, ...recordFate(value as Record<string, unknown>, { text: input, idMember }) };
}

function recordFate(
  fields: Record<string, unknown>,
  { text, idMember }: { readonly text: string; readonly idMember: IdMember },
): Fate {
  const member = idMember.in(fields);
  if ('problem' in member) return failed(idMember.wanted, member.problem);
  const { name = idMember.wanted } = member;
  const read = idOfJson(member.name === undefined ? undefined : fields[name], { text, name });
  if ('problem' in read) return failed(name, read.problem);
  delete fields[name];
  delete fields.crm_id;
  if (read.id !== null) fields.crm_id = read.id;
  return { crmId: read.id, record: { ...idOf(read.id), fields }, problem: undefined };
}
