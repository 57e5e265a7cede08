import { createHmac, randomBytes, randomFillSync, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

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

/**
 * The text of an API key: `<brand>_sk_<32 base62><6 base62 checksum>`, with `_sk_test_` for test keys. The checksum is
 * the CRC32 of the text before it, so that a mistyped key is refused without a look-up. Only a hash is stored.
 */

export type KeyKind = 'live' | 'test';

const checksumLength = 6;
const randomLength = 32;

/** A new secret. It is shown once. */
export function newSecret(brand: string, kind: KeyKind): string {
  const body = `${brand}_sk_${kind === 'test' ? 'test_' : ''}${randomBase62(randomLength)}`;
  return body + checksumOf(body);
}

/** The kind of a key of this brand; undefined when the form or the checksum is wrong. */
export function parseSecret(secret: string, brand: string): KeyKind | undefined {
  const prefix = `${brand}_sk_`;
  const maxLength = prefix.length + 'test_'.length + randomLength + checksumLength;
  if (secret.length > maxLength || !secret.startsWith(prefix)) return undefined;
  const rest = secret.slice(prefix.length);
  const kind = rest.startsWith('test_') ? 'test' : 'live';
  const random = kind === 'test' ? rest.slice('test_'.length) : rest;
  if (random.length !== randomLength + checksumLength || !/^[0-9A-Za-z]+$/.test(random)) return undefined;
  const body = secret.slice(0, -checksumLength);
  return isSameText(checksumOf(body), secret.slice(-checksumLength)) ? kind : undefined;
}

/** API keys of any brand, anywhere in a text. */
const secretLike = /\b[a-z][a-z0-9]*_sk_(test_)?[0-9A-Za-z]{20,}/g;

/** Replaces everything that looks like an API key by `[key]`. */
export const withoutSecrets = (text: string): string => text.replace(secretLike, '[key]');

/** The stored hash of a key: HMAC-SHA256 of the secret with the pepper, base64url. */
export const hashSecret = (secret: string, pepper: string): string =>
  createHmac('sha256', pepper).update(secret).digest('base64url');

/** Compares two texts in constant time. */
export function isSameText(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}

const checksumOf = (body: string): string => digitsOf(crc32(body), base62, checksumLength);
