import { setImmediate as nextStep } from 'node:timers/promises';
import { ApiError } from '../../shared/contract/errors.js';
import { endsTooEarly, reasonOf, stringEnd } from './json-fault.js';
import { bodyText } from './read-body.js';

/*
 * JSON bodies. `boundValues` limits the values and the depth of a large body before it is parsed.
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
  const values = await boundValues(text, limit);
  if (values === undefined) return parseJson(text);
  await nextStep();
  if (values.isWhole && values.lists > 1) throw unreadable('records comes twice in the body: send it once.');
  const value = parsed(text);
  await nextStep();
  if (hasNulKey(text)) throw nulKey();
  return value;
}

/**
 * Parses the text of a small body. The last of duplicate keys wins. `__proto__` is a key like any other.
 * @throws ApiError unreadableRequest for bad syntax, nesting deeper than 32 (the body itself is 1), or NUL in a key
 */
export function parseJson(text: string): unknown {
  const value = parsed(text);
  if (isDeeper(value, maxLevels)) throw tooDeep();
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
export const maxValues = { ofBatch: 300_000, ofRecord: 20_000, ofOutcomes: 20_000 } as const;

/** The size of a JSON body. */
export interface BodyValues {
  /** Members of all objects and items of all arrays, at every depth. An empty object or array counts as one. */
  readonly count: number;
  /** Items of the arrays `records` of the body itself; 0 without one. */
  readonly records: number;
  /** Values of the largest record, with its comma, or outside of records if those are more. */
  readonly maxOfRecord: number;
  /** Number of the arrays `records` of the body itself. */
  readonly lists: number;
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
  private lists = 0;
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
    const { count, records, lists, levels } = this;
    const isWhole = this.depth === 0 && !this.isInString;
    return { count, records, maxOfRecord: Math.max(this.maxOfRecord, count - this.inRecords), lists, levels, isWhole };
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
      this.lists += 1;
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
  /** Throws a more specific error, if there is one. */
  readonly refuse?: (values: BodyValues) => void;
}

/**
 * Refuses a body with too many values, in all or in one record, before it is parsed.
 * @returns its size; undefined for a body so small that it was not counted
 * @throws ApiError refusedRequest; unreadableRequest for a body that is cut off or too deep
 */
export async function boundValues(text: string, { max, advice, refuse }: ValueLimit): Promise<BodyValues | undefined> {
  // A value takes at least two characters, so most bodies need not be counted.
  if (text.length <= 2 * Math.min(max, maxValues.ofRecord)) return undefined;
  const values = await valuesIn(text);
  if (values.levels > maxLevels) throw tooDeep();
  if (values.count <= max && values.maxOfRecord <= maxValues.ofRecord) return values;
  if (!values.isWhole) throw invalidJson(endsTooEarly);
  refuse?.(values);
  const exceeded =
    values.count > max ? `${max} values` : `${maxValues.ofRecord} values in one record or outside of records`;
  throw new ApiError('refusedRequest', `The body has more than ${exceeded}: ${advice}.`);
}

const invalidJson = (reason: string): ApiError => unreadable(`The body is not valid JSON: ${reason}.`);
const nulKey = (): ApiError => unreadable('A key in the body contains a NUL character.');
const tooDeep = (): ApiError => unreadable(`The body is nested deeper than ${maxLevels} levels.`);
const unreadable = (message: string): ApiError => new ApiError('unreadableRequest', message);
