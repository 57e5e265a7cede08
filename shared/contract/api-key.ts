import { createHmac, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { randomBase62 } from './identifiers.js';

/**
 * The text of an API key: `<brand>_sk_<32 base62><6 base62 checksum>`, with `_sk_test_` for test keys. The checksum is
 * the CRC32 of all before it, so that a mistyped key is refused without a look-up. Only a hash is ever stored.
 */

export type KeyKind = 'live' | 'test';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const checksumLength = 6;
const randomLength = 32;

/** A new secret, to be shown once. */
export function newSecret(brand: string, kind: KeyKind): string {
  const body = `${brand}_sk_${kind === 'test' ? 'test_' : ''}${randomBase62(randomLength)}`;
  return body + checksumOf(body);
}

/** Whether a text has the form of a key of this brand and its checksum is right; says which kind it is. */
export function parseSecret(secret: string, brand: string): KeyKind | undefined {
  const prefix = `${brand}_sk_`;
  const longest = prefix.length + 'test_'.length + randomLength + checksumLength;
  if (secret.length > longest || !secret.startsWith(prefix)) return undefined;
  const rest = secret.slice(prefix.length);
  const kind = rest.startsWith('test_') ? 'test' : 'live';
  const random = kind === 'test' ? rest.slice('test_'.length) : rest;
  if (random.length !== randomLength + checksumLength || !/^[0-9A-Za-z]+$/.test(random)) return undefined;
  const body = secret.slice(0, -checksumLength);
  return isSameText(checksumOf(body), secret.slice(-checksumLength)) ? kind : undefined;
}

/** API keys of whatever brand, wherever they stand in a text. */
const secretLike = /\b[a-z][a-z0-9]*_sk_(test_)?[0-9A-Za-z]{20,}/g;

/** A text with `[key]` in the place of everything that looks like an API key. */
export const withoutSecrets = (text: string): string => text.replace(secretLike, '[key]');

/** What is stored of a key: HMAC-SHA256 of the secret with the pepper, base64url. */
export const hashSecret = (secret: string, pepper: string): string =>
  createHmac('sha256', pepper).update(secret).digest('base64url');

/** Whether two texts are the same, in a time that does not tell how much of them is. */
export function isSameText(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}

function checksumOf(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let index = 0; index < checksumLength; index += 1) {
    text = base62.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
