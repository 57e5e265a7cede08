import { setImmediate as nextStep } from 'node:timers/promises';
import { ApiError } from '../../shared/contract/errors.js';
import { endsTooEarly, reasonOf, stringEnd } from './json-fault.js';
import { bodyText } from './read-body.js';

/*
 * JSON bodies. `parseJsonBody` limits the values and the depth of a body. It counts those of a large text before it
 * parses it. Smaller ones are parsed first, because counting a value takes a third of the time.
 *
 * A body is decoded, counted and parsed in steps. The thread for large calls reads those of scoring calls, but the main
 * thread reads outcomes, which may have 8 MiB. One JSON.parse is one step: it takes 0.1 s for 8 MiB of records, which
 * only that thread reads.
 */

/** Levels of objects and arrays in a body, itself included. */
const maxLevels = 32;
const escapedNul = '\\u0000';

/**
 * Decodes, bounds and parses a body, each in an iteration of the event loop.
 * @throws ApiError unreadableRequest, refusedRequest; what `limit.refuse` throws
 */
export async function parseJsonBody(body: Buffer, limit: ValueLimit): Promise<unknown> {
  const text = await bodyText(body);
  if (text.length <= (limit.parsedCharacters ?? 0)) return parseBounded(text, limit);
  if ((await boundValues(text, limit)) === undefined) return parseJson(text);
  await nextStep();
  const value = parsed(text);
  await nextStep();
  if (hasNulKey(text)) throw nulKey();
  return value;
}

/** Parses a text, then limits its values. */
function parseBounded(text: string, limit: ValueLimit): unknown {
  const value = parsed(text);
  const size = sizeOf(value);
  if (hasNulKey(text)) throw nulKey();
  refuseTooMany(size, limit);
  return value;
}

/**
 * Parses the text of a small body. The last of duplicate keys wins. `__proto__` is a key like any other.
 * @throws ApiError unreadableRequest for bad syntax, nesting deeper than 32 (the body itself is 1), or NUL in a key
 */
export function parseJson(text: string): unknown {
  const value = parsed(text);
  valuesInside(value, maxLevels);
  if (hasNulKey(text)) throw nulKey();
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (text.trim() === '') throw unreadable('The body is empty: send a JSON object.');
    throw invalidJson(reasonOf(error, text));
  }
}

/**
 * Counts the values inside a parsed value, as `valuesIn` does in a text.
 * @param levels how deep it may nest
 * @throws ApiError unreadableRequest for a value that nests deeper
 */
function valuesInside(value: unknown, levels: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (levels === 0) throw tooDeep();
  let count = 0;
  let members = 0;
  if (Array.isArray(value)) {
    members = value.length;
    for (const item of value) if (typeof item === 'object') count += valuesInside(item, levels - 1);
  } else {
    // Object.values would make an array of each record.
    for (const name in value) {
      members += 1;
      const member = (value as Record<string, unknown>)[name];
      if (typeof member === 'object') count += valuesInside(member, levels - 1);
    }
  }
  return count + Math.max(1, members);
}

/**
 * The size of a parsed body, as `valuesIn` finds it in the text.
 * @throws ApiError unreadableRequest for a body that nests too deep
 */
export function sizeOf(body: unknown): BodySize {
  const { records } = (body ?? {}) as { readonly records?: unknown };
  if (!Array.isArray(records)) {
    const count = valuesInside(body, maxLevels);
    return { count, records: 0, maxOfRecord: count };
  }
  const outside = valuesInside({ ...(body as object), records: [] }, maxLevels);
  let count = outside;
  let maxOfRecord = outside;
  for (const [index, record] of records.entries()) {
    const comma = index < records.length - 1 ? 1 : 0;
    const ofRecord = valuesInside(record, maxLevels - 2) + comma;
    count += ofRecord;
    maxOfRecord = Math.max(maxOfRecord, ofRecord);
  }
  return { count, records: records.length, maxOfRecord };
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
export const maxValues = { ofBatch: 300_000, ofRecord: 20_000, ofOutcomes: 20_000 } as const;

/** How many values a JSON body has. */
export interface BodySize {
  /** Members of all objects and items of all arrays, at every depth. An empty object or array counts as one. */
  readonly count: number;
  /** Items of the arrays `records` of the body itself; 0 without one. */
  readonly records: number;
  /** Values of the largest record, with its comma, or outside of records if those are more. */
  readonly maxOfRecord: number;
}

/** The size of a JSON body by its text. */
export interface BodyValues extends BodySize {
  /** Levels of objects and arrays, the body included. Counting ends at 33. */
  readonly levels: number;
  /** Whether every bracket and string is closed. */
  readonly isWhole: boolean;
}

const [quote, backslash, comma, colon, space] = [0x22, 0x5c, 0x2c, 0x3a, 0x20];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Counting the values of so many characters takes up to 8 ms. */
const countedCharacters = 512 * 1024;

/** Counts the values of a JSON text by its commas and brackets outside strings, in steps. */
export async function valuesIn(text: string): Promise<BodyValues> {
  const counter = new ValueCounter(text);
  while (!counter.isOver) {
    counter.step();
    if (!counter.isOver) await nextStep();
  }
  return counter.values;
}

class ValueCounter {
  private isInList = false;
  private at = 0;
  private count = 0;
  private records = 0;
  private inRecords = 0;
  private maxOfRecord = 0;
  private recordStart = 0;
  private levels = 0;
  private depth = 0;
  private isInString = false;

  constructor(private readonly text: string) {}

  get isOver(): boolean {
    return this.at >= this.text.length || this.levels > maxLevels;
  }

  get values(): BodyValues {
    const { count, records, levels } = this;
    const isWhole = this.depth === 0 && !this.isInString;
    return { count, records, maxOfRecord: Math.max(this.maxOfRecord, count - this.inRecords), levels, isWhole };
  }

  step(): void {
    const { text } = this;
    const end = Math.min(this.at + countedCharacters, text.length);
    let { at, isInString } = this;
    for (; at < end && this.levels <= maxLevels; at += 1) {
      const code = text.charCodeAt(at);
      if (code === quote) isInString = !isInString;
      else if (isInString) at += code === backslash ? 1 : 0;
      else if (code === comma) this.comma();
      else if (code === openList || code === openObject) this.open(at, code);
      else if (code === closeList || code === closeObject) this.close();
    }
    Object.assign(this, { at, isInString });
  }

  private comma(): void {
    this.count += 1;
    if (this.depth === 2 && this.isInList) this.endRecord();
  }

  private open(at: number, code: number): void {
    this.count += 1;
    if (this.depth === 1 && code === openList && followsRecords(this.text, at)) {
      this.isInList = true;
      this.recordStart = this.count;
    }
    this.depth += 1;
    this.levels = Math.max(this.levels, this.depth);
  }

  private close(): void {
    if (this.depth === 2 && this.isInList) {
      this.endRecord();
      this.isInList = false;
    }
    this.depth = Math.max(0, this.depth - 1);
  }

  private endRecord(): void {
    this.records += 1;
    this.inRecords += this.count - this.recordStart;
    this.maxOfRecord = Math.max(this.maxOfRecord, this.count - this.recordStart);
    this.recordStart = this.count;
  }
}

/** Whether the name before a value is `records`. A regular expression would be slow for a million lists. */
function followsRecords(text: string, at: number): boolean {
  let end = at - 1;
  while (text.charCodeAt(end) <= space) end -= 1;
  if (text.charCodeAt(end) !== colon) return false;
  do end -= 1;
  while (text.charCodeAt(end) <= space);
  return text.startsWith('"records"', end - 8);
}

/** How many values a body may have. */
export interface ValueLimit {
  readonly max: number;
  /** Tells the caller which smaller body to send instead. */
  readonly advice: string;
  /** A text of at most so many characters is parsed before its values are counted. 0 when absent. */
  readonly parsedCharacters?: number;
  /** Throws a more specific error, if there is one. */
  readonly refuse?: (size: BodySize) => void;
}

/**
 * Refuses a body with too many values, in all or in one record, before it is parsed.
 * @returns its size; undefined for a body so small that it was not counted
 * @throws ApiError refusedRequest; unreadableRequest for a body that is cut off or too deep
 */
export async function boundValues(text: string, limit: ValueLimit): Promise<BodyValues | undefined> {
  // A value takes at least two characters, so most bodies need not be counted.
  if (text.length <= 2 * Math.min(limit.max, maxValues.ofRecord)) return undefined;
  const values = await valuesIn(text);
  if (values.levels > maxLevels) throw tooDeep();
  if (!values.isWhole && isTooLarge(values, limit)) throw invalidJson(endsTooEarly);
  refuseTooMany(values, limit);
  return values;
}

const isTooLarge = ({ count, maxOfRecord }: BodySize, { max }: ValueLimit): boolean =>
  count > max || maxOfRecord > maxValues.ofRecord;

function refuseTooMany(size: BodySize, limit: ValueLimit): void {
  if (!isTooLarge(size, limit)) return;
  limit.refuse?.(size);
  const { max, advice } = limit;
  const exceeded =
    size.count > max ? `${max} values` : `${maxValues.ofRecord} values in one record or outside of records`;
  throw new ApiError('refusedRequest', `The body has more than ${exceeded}: ${advice}.`);
}

const invalidJson = (reason: string): ApiError => unreadable(`The body is not valid JSON: ${reason}.`);
const nulKey = (): ApiError => unreadable('A key in the body contains a NUL character.');
const tooDeep = (): ApiError => unreadable(`The body is nested deeper than ${maxLevels} levels.`);
const unreadable = (message: string): ApiError => new ApiError('unreadableRequest', message);
