import { messageOf } from '../../../../shared/contract/errors.js';
import { knownAmong, nestedProblem } from '../../../../shared/files/other-format.js';
import { shownName } from '../../../../shared/files/reading/csv-columns.js';
import type { CanBeHeader } from '../../../../shared/files/reading/csv-start.js';
import { FileRecords } from '../../../../shared/files/reading/file-records.js';
import { InputFault } from '../../../../shared/files/reading/input-fault.js';
import { writtenMembers } from '../../../../shared/files/reading/json-members.js';
import { recordAt } from '../../../../shared/files/reading/record-ends.js';
import { IdMember, idOfJson } from '../../../../shared/files/reading/row-ids.js';
import { formatAdvice, type InputFile, type InputRecord, type RecordOptions, withFileName } from './input-file.js';

/** A call takes at most 8 MiB. */
const limits = { headerBytes: 0, rowBytes: 8 * 1024 * 1024 } as const;

/**
 * Reads a file with one JSON object per line and skips blank lines. A record is sent byte for byte, which keeps large
 * numbers exact, but for its crm_id.
 * @throws CliError that names the position of the fault
 */
export const jsonlRecords = (input: InputFile, options: RecordOptions): AsyncGenerator<InputRecord> =>
  withFileName(input, readRecords(input, options));

async function* readRecords(input: InputFile, options: RecordOptions): AsyncGenerator<InputRecord> {
  const member = new IdMember(options.crmIdField);
  const isKnown = options.fields && knownAmong(options.fields);
  const records = new FileRecords({
    format: 'jsonl',
    limits,
    formatAdvice,
    canBeHeader: isKnown,
    readHeader: async () => undefined,
  });
  /** The first records, as long as none has the member that --crm-id names. */
  let held: InputRecord[] = [];
  let row = 0;
  for await (const found of records.read(input.pieces())) {
    for (let index = found.from; index < found.to; index += 1) {
      const { bytes, line } = recordAt(found, index);
      const text = bytes.toString().trim();
      if (text === '') continue;
      row += 1;
      const endByte = found.offset + (found.found.ends[index] as number);
      const record = { row, line, ...readRecord(text, { line, member, isKnown, options }), endByte };
      if (options.crmIdField !== undefined && !member.wasFound) {
        if (row === maxWithoutId) throw withoutMember(options.crmIdField, `None of the first ${row} records`);
        held.push(record);
        continue;
      }
      for (const each of held) yield each;
      held = [];
      yield record;
    }
  }
  if (row === 0) throw new InputFault('The file has no records');
  if (held.length > 0) throw withoutMember(member.wanted, 'No record');
}

/** Records that are read before a missing member is a mistake in its name. */
const maxWithoutId = 1_000;

const withoutMember = (name: string, records: string): InputFault =>
  new InputFault(`${records} has the member ${shownName(name)} for the crm_id. Name another one with --crm-id`);

type Read = Pick<InputRecord, 'text' | 'problem'>;

interface ReadRecord {
  readonly line: number;
  readonly member: IdMember;
  /** Whether some names are known to the model; undefined if none is known. */
  readonly isKnown: CanBeHeader | undefined;
  readonly options: RecordOptions;
}

function readRecord(text: string, { line, member, isKnown, options }: ReadRecord): Read {
  let record: unknown;
  try {
    record = JSON.parse(text);
  } catch (error) {
    return failed(`The line is not JSON: ${messageOf(error)}`);
  }
  if (typeof record !== 'object' || record === null || Array.isArray(record))
    return failed('The line is not a JSON object. Write one record per line, such as {"field": "value"}');
  const nested = nestedProblem(record as Record<string, unknown>, { text, isKnown });
  if (nested !== undefined) return failed(nested);
  const found = member.in(record);
  if ('problem' in found) return failed(found.problem);
  const { name = member.wanted } = found;
  const value = found.name === undefined ? undefined : (record as Record<string, unknown>)[name];
  const read = idOfJson(value, { text, name });
  if ('problem' in read) {
    if (read.isShortened === true) throw new InputFault(`Line ${line}: ${read.problem}`, { line });
    return failed(read.problem);
  }
  const { id } = read;
  if (id !== null) options.onCrmId?.(id, line);
  const others = Object.keys(record).filter((key) => key !== name && key !== 'crm_id');
  options.onNames?.(id === null ? others : [...others, 'crm_id']);
  if (name === 'crm_id' && (value === undefined || value === id)) return { text };
  return { text: withCrmId(text, { id, without: new Set([name, 'crm_id']) }) };
}

const failed = (problem: string): Read => ({ text: undefined, problem });

/** Replaces the crm_id. The other members stay as they are written. */
function withCrmId(
  text: string,
  { id, without }: { readonly id: string | null; readonly without: Set<string> },
): string {
  const members = writtenMembers(text)
    .filter(({ name }) => !without.has(name))
    .map(({ start, end }) => text.slice(start, end));
  if (id !== null) members.push(`"crm_id":${JSON.stringify(id)}`);
  return `{${members.join(',')}}`;
}
