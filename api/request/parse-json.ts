import { ApiError } from '../../shared/contract/errors.js';
import { jsonFault } from './json-fault.js';

/** Levels of objects and lists in a body, itself included. */
export const maxLevels = 32;
const escapedNul = '\\u0000';

/**
 * Parses the text of a body. Of duplicate keys the last wins; `__proto__` is a key like any other.
 * @throws ApiError unreadableRequest for bad syntax, nesting deeper than 32 (the body itself is 1), or NUL in a key
 */
export function parseJson(text: string): unknown {
  if (text.trim() === '') throw unreadable('The body is empty: send a JSON object.');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalidJson(reason(error, text));
  }
  if (isDeeper(value, maxLevels)) throw tooDeep();
  // A NUL can only be written escaped, so most bodies need no second look at their keys.
  if (text.includes(escapedNul) && hasNulKey(value))
    throw unreadable('A key in the body contains a NUL character.');
  return value;
}

/** Whether a value nests deeper than `levels`; only arrays and objects are walked into. */
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

function hasNulKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(hasNulKey);
  const members = value as Record<string, unknown>;
  // Without a list of members, which takes five times as long where there are many.
  for (const key in members) if (key.includes('\0') || hasNulKey(members[key])) return true;
  return false;
}

/** What JSON.parse says, without the caller's text that newer engines quote; it does not always say where. */
function reason(error: unknown, text: string): string {
  const message = error instanceof Error ? error.message : '';
  const told = /at position (\d+)(?: \(line \d+ column \d+\))?/.exec(message);
  const position = told === null ? undefined : Number(told[1]);
  if (/end of JSON/i.test(message) || (position ?? 0) >= text.length) return tooEarly;
  const fault = jsonFault(text);
  const place = told?.[0] ?? (fault && `at position ${fault.position}`);
  if (place === undefined) return 'unexpected text';
  // Of a minus before no number it tells the place after it.
  const isThere = fault !== undefined && Math.abs((position ?? fault.position) - fault.position) <= 1;
  return `unexpected text ${place}${isThere && fault.what !== '' ? `: ${fault.what}` : ''}`;
}

const tooEarly = 'it ends too early';
const invalidJson = (reason: string): ApiError => unreadable(`The body is not valid JSON: ${reason}.`);

/** What a body gets that ends too early, or is nested too deep, whether that is seen before it is parsed or after. */
export const endsTooEarly = (): ApiError => invalidJson(tooEarly);
export const tooDeep = (): ApiError => unreadable(`The body is nested deeper than ${maxLevels} levels.`);

const unreadable = (message: string): ApiError => new ApiError('unreadableRequest', message);
