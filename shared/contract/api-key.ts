import { createHmac, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { base62, digitsOf, randomBase62 } from './identifiers.js';

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
