import { createHash } from 'node:crypto';

/**
 * The digest of a bundle's content: SHA-256 over one line for each member, ordered by name, of its name, a NUL, and
 * the SHA-256 of its bytes. Two bundles have the same digest when all members are the same, byte for byte.
 * @param members file names and bytes; the order does not matter
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
