import { randomBytes, randomFillSync } from 'node:crypto';

export const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const crockford = '0123456789abcdefghjkmnpqrstvwxyz';

/** Random base62 text without modulo bias. */
export function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < 248 && text.length < length) text += base62.charAt(byte % 62);
    }
  }
  return text;
}

/** A new public identifier: `org_…`, `key_…` or `mdl_…`. */
export const newId = (prefix: 'org' | 'key' | 'mdl'): string => `${prefix}_${randomBase62(16)}`;

const randomBytesOfId = 10;
const idsPerDraw = 256; // a draw for one id costs more than 20 times as much per id

/**
 * Makes call ids in the form of a ULID: 26 characters, ordered by the given time, unique across gateways (80 random
 * bits). Ids of one generator ascend even when the clock stops or steps back.
 */
export function callIdGenerator(): (nowMs: number) => string {
  const randomness = new Uint8Array(randomBytesOfId);
  const drawn = new Uint8Array(idsPerDraw * randomBytesOfId);
  let used = drawn.length;
  let lastMs = -1;
  return (nowMs) => {
    if (nowMs > lastMs) {
      lastMs = nowMs;
      if (used === drawn.length) {
        randomFillSync(drawn);
        used = 0;
      }
      randomness.set(drawn.subarray(used, used + randomBytesOfId));
      used += randomBytesOfId;
      // A clear top bit keeps increments within one millisecond from overflowing.
      randomness[0] = (randomness[0] ?? 0) & 0x7f;
    } else {
      increment(randomness);
    }
    return timePart(lastMs) + randomPart(randomness);
  };
}

/**
 * Max ms by which a call's id may be older than the date of its records. Both are made together now; earlier releases
 * made the id before the body arrived.
 */
export const maxArrivalMs = 11 * 60 * 1000;

/** The text that is smaller than every call id of `atMs` or later, and larger than every earlier one. */
export const callIdFloor = (atMs: number): string => timePart(Math.max(0, atMs));

function increment(bytes: Uint8Array): void {
  for (let index = bytes.length - 1; index >= 0; index -= 1) {
    const next = ((bytes[index] ?? 0) + 1) & 0xff;
    bytes[index] = next;
    if (next !== 0) return;
  }
}

const timePart = (atMs: number): string => digitsOf(atMs, crockford, 10);

/** The last `length` digits of a whole number, in the base and with the digits of an alphabet. */
export function digitsOf(number: number, alphabet: string, length: number): string {
  let text = '';
  for (let rest = number; text.length < length; rest = Math.floor(rest / alphabet.length)) {
    text = alphabet.charAt(rest % alphabet.length) + text;
  }
  return text;
}

/** Encodes bytes as characters of five bits each. */
function randomPart(bytes: Uint8Array): string {
  let text = '';
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = ((buffer << 8) | byte) & 0xffff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += crockford.charAt((buffer >> bits) & 31);
    }
  }
  return text;
}
