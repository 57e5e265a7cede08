import { BundleError } from './bundle-error.js';

/**
 * @param bytes a text member of a bundle
 * @param member its name, for the message
 * @returns the text, without a byte order mark
 * @throws BundleError when the bytes are not UTF-8
 */
export function decodeUtf8(bytes: Buffer, member: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new BundleError(member, 'is not UTF-8 text', { cause: error });
  }
}

/**
 * @param bytes a JSON member of a bundle
 * @param member its name, for the message
 * @returns the value, of any shape
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
