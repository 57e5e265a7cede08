import { messageOf } from '../../../../shared/contract/errors.js';
import { badInput, type InputFile, type InputRecord, type RecordOptions } from './input-file.js';

/**
 * Reads a file with one JSON object per line and skips blank lines. A record is sent byte for byte, which keeps large
 * numbers exact, unless `crmIdField` requires a new member.
 * @throws CliError that names the line without a JSON object
 */
export async function* jsonlRecords(input: InputFile, options: RecordOptions): AsyncGenerator<InputRecord> {
  let row = 0;
  let line = 0;
  let endByte = 0;
  for await (const written of linesOf(input.texts())) {
    line += 1;
    endByte += Buffer.byteLength(written) + 1;
    const text = written.trim();
    if (text === '') continue;
    row += 1;
    const record = parse(text, `${input.name}, line ${line}`);
    const sent = withCrmId(record, text, options);
    options.onNames?.(sent.names);
    yield { row, line, text: sent.text, endByte };
  }
}

async function* linesOf(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const text of texts) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

function parse(text: string, place: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw badInput(`${place} is not JSON: ${messageOf(error)}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw badInput(`${place} is not a JSON object. Write one record per line, such as {"field": "value"}`);
}

/** The record to send and the names of its members. */
function withCrmId(
  record: object,
  text: string,
  { crmIdField }: RecordOptions,
): { readonly text: string; readonly names: readonly string[] } {
  if (crmIdField === undefined) return { text, names: Object.keys(record) };
  const fields = new Map<string, unknown>(Object.entries(record));
  const id = fields.get(crmIdField);
  fields.delete(crmIdField);
  fields.delete('crm_id');
  const isId = (typeof id === 'string' && id !== '') || typeof id === 'number';
  if (isId) fields.set('crm_id', String(id));
  const members = [...fields].map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return { text: `{${members.join(',')}}`, names: [...fields.keys()] };
}
