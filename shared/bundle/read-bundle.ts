import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { BundleError } from './bundle-error.js';
import { BundleFiles, GOLDEN_FILE, MANIFEST_FILE, membersNamedBy } from './bundle-files.js';
import { BUNDLE_LIMITS, type BundleLimits } from './bundle-limits.js';
import { readArchive } from './read-archive.js';
import { readDirectory } from './read-directory.js';

/**
 * Reads a bundle from a directory or a gzipped tar archive of one, without judging what it holds.
 * Kept are `manifest.json`, `golden.jsonl` and the files that the manifest names; whatever lies beside them is
 * named in `ignored`. Nothing is written to disk.
 * @param path a directory, or a `.tar.gz`/`.tgz` (known by its content, not by its name)
 * @param limits sizes in bytes; the defaults suit a command line
 * @returns the members by file name
 * @throws BundleError when the path cannot be read, is too large, or holds links, devices, nested folders,
 *   paths that lead elsewhere or the same member twice
 */
export async function readBundle(path: string, limits: BundleLimits = BUNDLE_LIMITS): Promise<BundleFiles> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'there is no such file or directory' : error.message;
    throw new BundleError(basename(path), reason, { cause: error });
  });
  if (found.isDirectory()) return readDirectory(path, limits);
  if (!found.isFile()) throw new BundleError(basename(path), 'is neither a directory nor a regular file');
  return keepMembers(await readArchive(path, limits));
}

function keepMembers(entries: BundleFiles): BundleFiles {
  const named = membersNamedBy(entries.get(MANIFEST_FILE));
  const wanted = new Set([MANIFEST_FILE, GOLDEN_FILE, named.onnx, named.covers]);
  const files = new BundleFiles();
  files.ignored.push(...entries.ignored);
  for (const [name, bytes] of entries) {
    if (wanted.has(name)) files.set(name, bytes);
    else files.ignored.push(name);
  }
  return files;
}
