import { randomBytes, randomFillSync } from 'node:crypto';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
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

/** A new public identifier: `org_…`, `key_…`, `mdl_…`. */
export const newId = (prefix: 'org' | 'key' | 'mdl'): string => `${prefix}_${randomBase62(16)}`;

const randomBytesOfId = 10;
/** Randomness is drawn for so many ids at once: drawn for one, it costs more than twenty times as much an id. */
const idsOfDraw = 256;

/**
 * Makes call ids: 26 characters, ordered by the time that is passed, unique across gateways (80 random bits), and
 * ascending within one generator even when the clock stands still or steps back. The form is that of a ULID.
 */
export function callIdGenerator(): (nowMs: number) => string {
  const randomness = new Uint8Array(randomBytesOfId);
  const drawn = new Uint8Array(idsOfDraw * randomBytesOfId);
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
      // The top bit is kept clear so that counting up within one millisecond cannot overflow.
      randomness[0] = (randomness[0] ?? 0) & 0x7f;
    } else {
      increment(randomness);
    }
    return timePart(lastMs) + randomPart(randomness);
  };
}

/**
 * By how much a call's id may be older than the date of its records. The two are made together, but in what was recorded
 * before that was so, the id had been made before the body arrived.
 */
export const maxArrivalMs = 11 * 60 * 1000;

/** The text that is smaller than every call id made at an instant or later, and larger than all before it. */
export const callIdFloor = (atMs: number): string => timePart(Math.max(0, atMs));

function increment(bytes: Uint8Array): void {
  for (let index = bytes.length - 1; index >= 0; index -= 1) {
    const next = ((bytes[index] ?? 0) + 1) & 0xff;
    bytes[index] = next;
    if (next !== 0) return;
  }
}

function timePart(atMs: number): string {
  let text = '';
  let rest = atMs;
  for (let index = 0; index < 10; index += 1) {
    text = crockford.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** Five bytes make eight characters of five bits. */
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
