import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { BundleError } from './bundle-error.js';
import { BundleFiles, GOLDEN_FILE, MANIFEST_FILE, membersNamedBy } from './bundle-files.js';
import { type BundleLimits, sizeText } from './bundle-limits.js';

/**
 * Reads a bundle's members from a directory. Other files and folders in it are named as ignored and never opened,
 * so that a bundle may lie in a folder under version control.
 * @param path the directory
 * @param limits sizes in bytes
 * @throws BundleError when a member is a link or no regular file, cannot be read, or is too large
 */
export async function readDirectory(path: string, limits: BundleLimits): Promise<BundleFiles> {
  const present = await readdir(path).catch((error: Error) => {
    throw new BundleError(basename(path), `cannot be read: ${error.message}`, { cause: error });
  });
  const files = new BundleFiles();
  let total = 0;
  const read = async (name: string | undefined): Promise<void> => {
    if (name === undefined || files.has(name) || !present.includes(name)) return;
    const limit = name === MANIFEST_FILE ? limits.manifestBytes : limits.memberBytes;
    const bytes = await readMember(path, name, Math.min(limit, limits.totalBytes - total));
    total += bytes.length;
    files.set(name, bytes);
  };
  await read(MANIFEST_FILE);
  const named = membersNamedBy(files.get(MANIFEST_FILE));
  await read(named.onnx);
  await read(named.covers);
  await read(GOLDEN_FILE);
  files.ignored.push(...present.filter((name) => !files.has(name)));
  return files;
}

async function readMember(directory: string, name: string, limitBytes: number): Promise<Buffer> {
  // O_NOFOLLOW: a link may lead out of the bundle. O_NONBLOCK: opening a named pipe must not wait for a writer.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(join(directory, name), flags).catch((error: NodeJS.ErrnoException) => {
    const reason =
      error.code === 'ELOOP' ? 'is a symbolic link, not a file' : `cannot be read: ${error.message}`;
    throw new BundleError(name, reason, { cause: error });
  });
  try {
    const facts = await handle.stat();
    if (!facts.isFile()) throw new BundleError(name, 'is not a regular file');
    if (facts.size > limitBytes) {
      throw new BundleError(name, `is ${sizeText(facts.size)}, above the limit of ${sizeText(limitBytes)}`);
    }
    const bytes = await handle.readFile();
    if (bytes.length !== facts.size) throw new BundleError(name, 'changed while it was being read');
    return bytes;
  } finally {
    await handle.close();
  }
}
