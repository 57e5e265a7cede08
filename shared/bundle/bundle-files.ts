import { createHash } from 'node:crypto';
import { BundleError } from './bundle-error.js';
import { mebibyte } from './limits.js';

/** Every bundle has this member. */
export const manifestFile = 'manifest.json';
/** Optional member: records with the answers that the author expects. */
export const goldenFile = 'golden.jsonl';

/** Pattern of a file name that cannot leave its folder: no slash, no leading dot, at most 100 characters. */
export const plainFileName = '^[A-Za-z0-9_][A-Za-z0-9._ -]{0,99}$';

/** The members of a bundle by file name. `ignored` names the files beside them that were not read. */
export class BundleFiles extends Map<string, Buffer> {
  readonly ignored: string[] = [];
}

/** The files that a manifest names; undefined where the name is absent or not plain. */
export interface NamedMembers {
  readonly onnx?: string;
  readonly covers?: string;
}

/**
 * Reads the member names from a manifest that has not been checked yet. An unreadable manifest gives no names:
 * `checkManifest` reports it later.
 * @param manifest the bytes of `manifest.json`, if the bundle has one
 */
export function membersNamedBy(manifest: Buffer | undefined): NamedMembers {
  if (manifest === undefined) return {};
  let value: { readonly onnx?: { readonly file?: unknown }; readonly explain?: { readonly covers?: unknown } } | null;
  try {
    value = JSON.parse(new TextDecoder().decode(manifest));
  } catch {
    return {};
  }
  const onnx = plainName(value?.onnx?.file);
  const covers = plainName(value?.explain?.covers);
  return { ...(onnx === undefined ? {} : { onnx }), ...(covers === undefined ? {} : { covers }) };
}

function plainName(value: unknown): string | undefined {
  return typeof value === 'string' && new RegExp(plainFileName).test(value) ? value : undefined;
}

/**
 * Decodes a text member, without its byte order mark.
 * @param member file name, for the message
 * @throws BundleError when the bytes are not UTF-8
 */
export function decodeUtf8(bytes: Buffer, member: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new BundleError(member, 'is not UTF-8 text: save the file as UTF-8', { cause: error });
  }
}

/**
 * Parses a JSON member.
 * @param member file name, for the message
 * @throws BundleError when the bytes are not UTF-8 or not JSON
 */
export function parseJson(bytes: Buffer, member: string): unknown {
  const text = decodeUtf8(bytes, member);
  try {
    return JSON.parse(text);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw new BundleError(member, `is not JSON: ${detail}`, { cause: error });
  }
}

/**
 * Digest of a bundle's content: equal for two bundles when all members are equal, byte for byte. It is the SHA-256 over
 * one line for each member, ordered by name: `<name>\0<SHA-256 of the bytes>\n`.
 * @param members in any order
 * @returns 64 lower-case hexadecimal digits
 */
export function bundleDigest(members: ReadonlyMap<string, Uint8Array>): string {
  const whole = createHash('sha256');
  const names = [...members.keys()].sort();
  for (const name of names) {
    const content = createHash('sha256').update(members.get(name) ?? new Uint8Array());
    whole.update(`${name}\0${content.digest('hex')}\n`);
  }
  return whole.digest('hex');
}

/** A size for a message: `64 MiB`, `1.5 MiB`, `12 bytes`. */
export function sizeText(bytes: number): string {
  return bytes < mebibyte ? `${bytes} bytes` : `${Math.round((bytes / mebibyte) * 10) / 10} MiB`;
}
