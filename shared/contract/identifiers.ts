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

/** A new public identifier: `org_…`, `key_…`, `mdl_…`, `tok_…`, `mbr_…` or `ses_…`. */
export const newId = (prefix: 'org' | 'key' | 'mdl' | 'tok' | 'mbr' | 'ses'): string => `${prefix}_${randomBase62(16)}`;

/** Characters of an organisation's id that begin the ids of its calls. */
const organisationLength = 6;
const timeLength = 9;
/** The random part has 25 and 30 bits, in characters of five bits each. */
const randomLengths = { high: 5, low: 6 } as const;
const drawsAtOnce = 512; // a draw for one id costs more than 20 times as much per id

/**
 * The text that begins all call ids of an organisation. MongoDB shards and clusters calls by it. Two organisations
 * rarely share it, and then their calls only lie side by side.
 */
export const callIdPrefix = (organisationId: string): string =>
  organisationId.slice('org_'.length, 'org_'.length + organisationLength).padEnd(organisationLength, '0');

/** A number of 32 bits for an organisation. Organisations that share the beginning of their call ids share it, too. */
export const organisationNumber = (organisationId: string): number => crc32(callIdPrefix(organisationId)) | 0;

/** The part of a call id, or of a prediction's id, that its organisation gives. */
export const prefixOfCallId = (callId: string): string => callId.slice(0, organisationLength);

/**
 * Makes call ids of 26 characters: the organisation's prefix, the time, and 54 random bits. Ids of one organisation are
 * ordered by the given time, and unique across gateways. One generator makes ascending ids even when the clock stops or
 * steps back.
 */
export function callIdGenerator(): (nowMs: number, organisationId: string) => string {
  const drawn = new Uint32Array(drawsAtOnce);
  let used = drawsAtOnce;
  const draw = (bits: number): number => {
    if (used === drawsAtOnce) {
      randomFillSync(drawn);
      used = 0;
    }
    used += 1;
    return (drawn[used - 1] ?? 0) >>> (32 - bits);
  };
  let [lastMs, time, high, low] = [-1, '', 0, 0];
  return (nowMs, organisationId) => {
    if (nowMs > lastMs) {
      lastMs = nowMs;
      time = timePart(nowMs);
      high = draw(24); // a clear top bit keeps increments within one millisecond from overflowing
      low = draw(30);
    } else {
      low = (low + 1) % 2 ** 30;
      if (low === 0) high += 1;
    }
    const random = digitsOf(high, crockford, randomLengths.high) + digitsOf(low, crockford, randomLengths.low);
    return callIdPrefix(organisationId) + time + random;
  };
}

/** The id of a bulk job, from a call id: jobs of one organisation are ordered by time, too. */
export const jobIdOf = (callId: string): string => `job_${callId}`;

/**
 * The text that is smaller than every call id of an organisation of `atMs` or later, and larger than every earlier one.
 */
export const callIdFloor = (atMs: number, organisationId: string): string =>
  callIdPrefix(organisationId) + timePart(Math.max(0, atMs));

const timePart = (atMs: number): string => digitsOf(atMs, crockford, timeLength);

/** The last `length` digits of a whole number, in the base and with the digits of an alphabet. */
export function digitsOf(number: number, alphabet: string, length: number): string {
  let text = '';
  for (let rest = number; text.length < length; rest = Math.floor(rest / alphabet.length)) {
    text = alphabet.charAt(rest % alphabet.length) + text;
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

/** The first text in the form of a secret of this brand, such as in a header. Its checksum may be wrong. */
export const secretIn = (text: string, brand: string): string | undefined =>
  new RegExp(`(?<![0-9A-Za-z])${brand}_sk_[0-9A-Za-z_]+`).exec(text)?.[0];

/** API keys and tokens of the console of any brand, anywhere in a text. */
const secretLike = /\b[a-z][a-z0-9]*_(sk_(test_)?[0-9A-Za-z]{20,}|console_[\w-]{20,})/g;

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
