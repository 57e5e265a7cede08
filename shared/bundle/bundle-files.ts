/** The name of the one member that every bundle has. */
export const MANIFEST_FILE = 'manifest.json';
/** Records with the answers expected, where the author gave them. */
export const GOLDEN_FILE = 'golden.jsonl';

/** A file name that stays where it is put: no folder, no hidden file, at most 100 characters. */
export const PLAIN_FILE_NAME = '^[A-Za-z0-9_][A-Za-z0-9._ -]{0,99}$';

/** The members of a bundle, by file name, and the names of what was found beside them and not read. */
export class BundleFiles extends Map<string, Buffer> {
  readonly ignored: string[] = [];
}

/** The files that a manifest asks for; undefined where it does not name one properly. */
export interface NamedMembers {
  readonly onnx?: string;
  readonly covers?: string;
}

/**
 * Reads from a manifest that has not been checked yet which files belong to the bundle.
 * @param manifest the bytes of `manifest.json`, or undefined when there is none
 * @returns plain file names only; nothing for a manifest that cannot be read (the check says why later)
 */
export function membersNamedBy(manifest: Buffer | undefined): NamedMembers {
  if (manifest === undefined) return {};
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(manifest));
  } catch {
    return {};
  }
  const onnx = plainName(property(property(value, 'onnx'), 'file'));
  const covers = plainName(property(property(value, 'explain'), 'covers'));
  return { ...(onnx === undefined ? {} : { onnx }), ...(covers === undefined ? {} : { covers }) };
}

function property(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, key)?.value;
}

function plainName(value: unknown): string | undefined {
  return typeof value === 'string' && new RegExp(PLAIN_FILE_NAME).test(value) ? value : undefined;
}
