import { ApiError } from '../shared/errors.js';

const deepest = 32;
const [colon, quote, backslash] = [0x3a, 0x22, 0x5c];
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
    throw unreadable(`The body is not valid JSON: ${reason(error)}.`);
  }
  if (isDeeper(value, deepest)) throw unreadable(`The body is nested deeper than ${deepest} levels.`);
  // A NUL can only be written escaped, so most bodies need no second look at their keys.
  if (text.includes(escapedNul) && hasNulKey(value))
    throw unreadable('A key in the body contains a NUL character.');
  return value;
}

/**
 * Whether a body has more members than `most`, in all its objects together: by the colons between its texts, which costs some
 * milliseconds a megabyte, where to parse a million members takes a second.
 */
export function hasMoreMembers(body: Buffer, most: number): boolean {
  let members = 0;
  let isInText = false;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === quote) isInText = !isInText;
    else if (isInText && byte === backslash) at += 1;
    else if (!isInText && byte === colon) {
      members += 1;
      if (members > most) return true;
    }
  }
  return false;
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
  return Object.entries(value).some(([key, member]) => key.includes('\0') || hasNulKey(member));
}

/** What JSON.parse says, without the caller's text that newer engines quote. */
function reason(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  const position = /at position \d+( \(line \d+ column \d+\))?/.exec(message)?.[0];
  if (position !== undefined) return `unexpected text ${position}`;
  return /end of JSON/i.test(message) ? 'it ends too early' : 'unexpected text';
}

const unreadable = (message: string): ApiError => new ApiError('unreadableRequest', message);
