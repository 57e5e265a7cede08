import { ApiError } from '../../shared/contract/errors.js';
import { bodyText, type Yielding } from './receive-call.js';

/*
 * JSON bodies. `boundValues` limits the number of values before parsing. `parseJson` limits the depth, and says where a
 * body is not JSON.
 */

/** Levels of objects and arrays in a body, itself included. */
const maxLevels = 32;
const escapedNul = '\\u0000';

/**
 * Decodes, bounds and parses a body, each in a turn of the event loop.
 * @throws ApiError unreadableRequest, refusedRequest; what `limit.refuse` throws
 */
export async function parseJsonBody(body: Buffer, limit: ValueLimit, turn: Yielding): Promise<unknown> {
  const text = await bodyText(body, turn);
  const levels = boundValues(body, limit);
  await turn.yieldToEventLoop();
  const value = parseJson(text, levels);
  await turn.yieldToEventLoop();
  return value;
}

/**
 * Parses the text of a body. The last of duplicate keys wins. `__proto__` is a key like any other.
 * @param levels of the body, if they were counted
 * @throws ApiError unreadableRequest for bad syntax, nesting deeper than 32 (the body itself is 1), or NUL in a key
 */
export function parseJson(text: string, levels?: number): unknown {
  if (text.trim() === '') throw unreadable('The body is empty: send a JSON object.');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalidJson(reasonOf(error, text));
  }
  if (levels === undefined ? isDeeper(value, maxLevels) : levels > maxLevels) throw tooDeep();
  if (hasNulKey(text)) throw unreadable('A key in the body contains a NUL character.');
  return value;
}

/** Whether a value nests deeper than `levels`. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object' && isDeeper(item, levels - 1)) return true;
    return false;
  }
  const members = value as Record<string, unknown>;
  for (const key in members) {
    const member = members[key];
    if (typeof member === 'object' && isDeeper(member, levels - 1)) return true;
  }
  return false;
}

/** Whether a key of a JSON text contains NUL. JSON allows it only as an escape, so most bodies have none. */
function hasNulKey(text: string): boolean {
  let at = text.indexOf(escapedNul);
  while (at >= 0) {
    let before = at;
    while (text.charCodeAt(before - 1) === backslash) before -= 1;
    const isEscape = (at - before) % 2 === 0;
    const end = isEscape ? stringEnd(text, at - 1) + 1 : at + 1;
    if (isEscape && isColonNext(text, end)) return true;
    at = text.indexOf(escapedNul, end);
  }
  return false;
}

/** Whether the next character that is not white space is a colon. */
function isColonNext(text: string, from: number): boolean {
  let at = from;
  while (text.charCodeAt(at) <= space) at += 1;
  return text.charCodeAt(at) === colon;
}

/**
 * Maximum values of a body. A batch may have 1000 records of 300 fields; the others have many times what they need.
 * Parsing more values, chosen to be slow, blocks the gateway's thread for seconds.
 */
export const maxValues = { ofBatch: 300_000, ofRecord: 20_000, ofOutcomes: 30_000 } as const;
/** Members of one object. With a hundred thousand, each pass over them blocks the thread for 20 to 100 ms. */
export const maxOfObject = 20_000;

/** The size of a JSON body. */
export interface BodyValues {
  /** Members of all objects and items of all arrays, at every depth. An empty object or array counts as one. */
  readonly count: number;
  /** Items of the array `records` of the body itself; 0 without one. */
  readonly records: number;
  /** Members of the largest object. */
  readonly maxMembers: number;
  /** Levels of objects and arrays, the body included. Counting ends at 33. */
  readonly levels: number;
  /** Whether every bracket and string is closed. */
  readonly isWhole: boolean;
}

const [quote, backslash, comma, colon, space] = [0x22, 0x5c, 0x2c, 0x3a, 0x20];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Counts the values of a JSON body by its commas and brackets outside strings. Takes a few ms per MB. */
export function valuesIn(body: Buffer): BodyValues {
  let count = 0;
  let records = 0;
  let areRecords = false;
  let maxMembers = 0;
  let levels = 0;
  let isInString = false;
  /** Values in the current object or array, and in each around it. */
  let values = 0;
  const around: number[] = [];
  for (let at = 0; at < body.length && levels <= maxLevels; at += 1) {
    const byte = body[at];
    if (byte === quote) isInString = !isInString;
    else if (isInString) at += byte === backslash ? 1 : 0;
    else if (byte === comma) {
      count += 1;
      values += 1;
    } else if (byte === openList || byte === openObject) {
      count += 1;
      if (around.length === 1) areRecords = followsRecords(body, at);
      around.push(values);
      values = 1;
      levels = Math.max(levels, around.length);
    } else if (byte === closeList || byte === closeObject) {
      if (byte === closeObject) maxMembers = Math.max(maxMembers, values);
      else if (around.length === 2 && areRecords) records = Math.max(records, values);
      values = around.pop() ?? 0;
    }
  }
  return { count, records, maxMembers, levels, isWhole: around.length === 0 && !isInString };
}

/** Whether the name before a value is `records`. */
const followsRecords = (body: Buffer, at: number): boolean =>
  /"records"\s*:\s*$/.test(body.toString('latin1', Math.max(0, at - 64), at));

/** How many values a body may have. */
export interface ValueLimit {
  readonly max: number;
  /** Tells the caller which smaller body to send instead. */
  readonly advice: string;
  /** Throws a more specific error, if there is one. */
  readonly refuse?: (values: BodyValues) => void;
}

/**
 * Refuses a body with too many values, or with too large an object, before it is parsed.
 * @returns its levels; undefined for a body so small that it was not counted
 * @throws ApiError refusedRequest; unreadableRequest for a body that is cut off or too deep
 */
export function boundValues(body: Buffer, { max, advice, refuse }: ValueLimit): number | undefined {
  // A value takes at least two bytes and a member five, so most bodies need not be counted.
  if (body.length <= Math.min(2 * max, 5 * maxOfObject)) return undefined;
  const values = valuesIn(body);
  if (values.levels > maxLevels) throw tooDeep();
  if (values.count <= max && values.maxMembers <= maxOfObject) return values.levels;
  if (!values.isWhole) throw invalidJson(endsTooEarly);
  refuse?.(values);
  const excess = values.count > max ? `${max} values` : `${maxOfObject} values in one object`;
  throw new ApiError('refusedRequest', `The body has more than ${excess}: ${advice}.`);
}

/** A place in a text that is not JSON. */
interface Fault {
  /** Index of its first character. */
  readonly position: number;
  /** The fault and its remedy, or ''. Quotes nothing of the text except words of `jsonFor`. */
  readonly hint: string;
}

/** Words of other languages for values, and what JSON has for them. */
const jsonFor: Readonly<Record<string, string>> = {
  NaN: 'null',
  nan: 'null',
  Infinity: 'null',
  '-Infinity': 'null',
  None: 'null',
  undefined: 'null',
  True: 'true',
  False: 'false',
};
const jsonWord = /^(?:true|false|null|-?\d[\d.eE+-]*)$/;
const anyWord = /[^\s"{}[\],:]+/y;

/**
 * Finds a word that JSON does not have, or a missing value, as templates leave it for an empty field. Other faults are
 * not found. Takes 10 ms per MB. A parser with error recovery would find all faults, but a caller can make it slow. For
 * example, jsonc-parser blocks the thread for 1.3 s on 8 MiB of spaces.
 */
function firstFault(text: string): Fault | undefined {
  let before = '';
  for (let position = 0; position < text.length; position += 1) {
    const found = text.charAt(position);
    if (found <= ' ') continue;
    if (found === '"') position = stringEnd(text, position);
    else if (found === ',' || found === ']' || found === '}') {
      if (before === ':') return { position, hint: 'there is no value after the colon' };
      // `[]` and `{}` are the only places where no value is needed.
      const isFirst = before === '[' || before === '{';
      if (before === ',' || (found === ',' && isFirst)) return { position, hint: '' };
    } else if (found !== ':' && found !== '[' && found !== '{') {
      anyWord.lastIndex = position;
      const word = anyWord.exec(text)?.[0] ?? found;
      if (!jsonWord.test(word)) return { position, hint: hintFor(word) };
      position += word.length - 1;
    }
    before = found;
  }
  return undefined;
}

/** The index of the quote that closes a string, or the end of the text. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) return at;
    if (code === backslash) at += 1;
  }
  return text.length;
}

const hintFor = (word: string): string =>
  Object.hasOwn(jsonFor, word) ? `${word} is not JSON, write ${jsonFor[word]}` : '';

/** Describes an error of JSON.parse, without the caller's text, which newer engines quote. */
function reasonOf(error: unknown, text: string): string {
  const message = error instanceof Error ? error.message : '';
  const stated = /at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(message);
  const position = stated === null ? undefined : Number(stated[1]);
  if (/^Unexpected end of JSON/.test(message) || (position ?? 0) >= text.length) return endsTooEarly;
  // JSON.parse does not always state a position.
  const fault = firstFault(text);
  const place = stated?.[0] ?? (fault && `at position ${fault.position}`);
  if (place === undefined) return 'unexpected text';
  // For a minus without a number JSON.parse states the position after it.
  const isSamePlace = fault !== undefined && Math.abs((position ?? fault.position) - fault.position) <= 1;
  return `unexpected text ${place}${isSamePlace && fault.hint !== '' ? `: ${fault.hint}` : ''}`;
}

const endsTooEarly = 'it ends too early';
const invalidJson = (reason: string): ApiError => unreadable(`The body is not valid JSON: ${reason}.`);
const tooDeep = (): ApiError => unreadable(`The body is nested deeper than ${maxLevels} levels.`);
const unreadable = (message: string): ApiError => new ApiError('unreadableRequest', message);
