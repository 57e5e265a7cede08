import type { KnownFields } from '../messages/field-slots.js';
import type { FileFormat } from './file-form.js';
import { shownName } from './reading/csv-columns.js';
import type { CanBeHeader } from './reading/csv-start.js';
import { InputFault } from './reading/input-fault.js';
import { lineEnds } from './reading/row-faults.js';

/** How a reader is given the format of a file, for messages. */
export type FormatAdvice = Readonly<Record<FileFormat, string>>;

interface Beginning {
  readonly format: FileFormat;
  /** Number of the first line of the text. */
  readonly line: number;
  /** Whether some names are known to the model; undefined if none is known. */
  readonly canBeHeader: CanBeHeader | undefined;
  readonly advice: FormatAdvice;
}

const oneLine = 'Write one record in each line, for example with';
/** An object of JSON, perhaps in an array. No header of a CSV begins so. */
const json = /^(?:\[\s*)*\{\s*(?:"(?:[^"\\]|\\.)*"\s*:|\})/;

/**
 * Refuses a file that is not of its format, before any row is read.
 * @param text of its first lines, up to 64 KiB
 * @throws InputFault
 */
export function refuseOtherFormat(text: string, beginning: Beginning): void {
  const { format, advice, canBeHeader } = beginning;
  const trimmed = text.trimStart();
  const line = beginning.line + lineEnds(text.slice(0, text.length - trimmed.length));
  const [first = '', second] = trimmed.split(/\r\n|\r|\n/).filter((each) => each.trim() !== '');
  const fault = (message: string, remedy: string): InputFault =>
    new InputFault(`${message} (line ${line}, column 1). ${remedy}`, { line, column: 1 });
  if (format === 'csv' && !json.test(trimmed)) return;
  if (format === 'csv' && !isSpread(first, second))
    throw fault('The file has records of JSON and is no CSV', advice.jsonl);
  if (trimmed.startsWith('[')) throw fault('The file is a JSON array', `${oneLine} jq -c '.[]' FILE`);
  if (isSpread(first, second)) throw fault('A JSON record has several lines', `${oneLine} jq -c . FILE`);
  if (first === '' || first.startsWith('{')) {
    refuseNested(first, { line, canBeHeader });
    return;
  }
  if (second?.startsWith('{') === true) return;
  throw fault('The line is no JSON object, so the file is no JSONL', `If it is a CSV, ${advice.csv}`);
}

/** Whether the first record goes on in the second line. */
function isSpread(first: string, second: string | undefined): boolean {
  if (first.startsWith('[')) return true;
  return first.startsWith('{') && second !== undefined && !/^\s*\{/.test(second) && objectIn(first) === undefined;
}

/** The record of a line that `JSON.parse` accepts. Members such as `__proto__` are ordinary. */
export function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function refuseNested(
  text: string,
  { line, canBeHeader }: { readonly line: number; readonly canBeHeader: CanBeHeader | undefined },
): void {
  const record = objectIn(text);
  const problem = record === undefined ? undefined : nestedProblem(record, { text, isKnown: canBeHeader });
  if (problem !== undefined) throw new InputFault(`Line ${line}, column 1: ${problem}`, { line, column: 1 });
}

/** Tests names of JSON, which may be data: it remembers none of them. */
export const knownAmong =
  (fields: KnownFields): CanBeHeader =>
  (names) => {
    const sent = fields.sentNames();
    return names.some((name) => sent.targetsOf(name).length > 0);
  };

const maxDepth = 3;
/** Folding the names of a longer record would keep other work waiting. */
const maxText = 64 * 1024;

/**
 * Why a record has no field that the model knows: its fields are inside one of its members.
 * @param of.text its JSON
 * @param of.isKnown whether some names are known to the model; undefined if none is known
 */
export function nestedProblem(
  record: Readonly<Record<string, unknown>>,
  { text, isKnown }: { readonly text: string; readonly isKnown: CanBeHeader | undefined },
): string | undefined {
  if (isKnown === undefined || text.length > maxText) return undefined;
  // Nearly all records end here: this is called for each.
  if (!text.includes('{', text.indexOf('{') + 1) && !text.includes('[')) return undefined;
  let hasInner = false;
  for (const name in record) hasInner ||= typeof record[name] === 'object' && record[name] !== null;
  if (!hasInner || isKnown(Object.keys(record))) return undefined;
  const steps = stepsToFields(record, isKnown, maxDepth);
  if (steps === undefined) return undefined;
  const place = `The fields of the record are inside ${steps.map(({ name }) => shownName(name)).join(', ')}`;
  return `${place}. Write them at its top, for example with jq -c '${steps.map(jqOf).join(' | ')}' FILE`;
}

/** A member that holds the fields, or a further one. */
interface Step {
  readonly name: string;
  readonly isList: boolean;
}

function jqOf({ name, isList }: Step): string {
  const member = `.[${JSON.stringify(name).replaceAll("'", "'\\''")}]`;
  return isList ? `${member}[]` : `. + ${member} | del(${member})`;
}

function stepsToFields(
  record: Readonly<Record<string, unknown>>,
  isKnown: CanBeHeader,
  depth: number,
): readonly Step[] | undefined {
  if (depth === 0) return undefined;
  for (const [name, member] of Object.entries(record)) {
    const isList = Array.isArray(member);
    const inner: unknown = isList ? member[0] : member;
    if (!isObject(inner)) continue;
    const further = isKnown(Object.keys(inner)) ? [] : stepsToFields(inner, isKnown, depth - 1);
    if (further !== undefined) return [{ name, isList }, ...further];
  }
  return undefined;
}
