import { constants } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { BundleError } from '../bundle-error.js';
import { BundleFiles, goldenFile, manifestFile, membersNamedBy, sizeText } from '../bundle-files.js';
import { type BundleLimits, bundleLimits } from '../limits.js';
import { readArchive } from './read-archive.js';

/**
 * Reads a bundle from a directory or a gzipped tar archive into memory, without checking its content. Keeps
 * `manifest.json`, `golden.jsonl` and the files that the manifest names; `ignored` names the others.
 * @param path a directory or a `.tar.gz`/`.tgz`, recognised by its content and not by its name
 * @throws BundleError when the path cannot be read or exceeds a limit. In an archive, links, devices, nested folders,
 * paths that lead out of it and duplicate members are refused too.
 */
export async function readBundle(path: string, limits: BundleLimits = bundleLimits): Promise<BundleFiles> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'no such file or directory: check the path' : error.message;
    throw new BundleError(basename(path), reason, { cause: error });
  });
  if (found.isDirectory()) return readDirectory(path, limits);
  if (!found.isFile())
    throw new BundleError(basename(path), 'is neither a directory nor a .tar.gz archive: give one of these');
  return keepMembers(await readArchive(path, limits));
}

function keepMembers(entries: BundleFiles): BundleFiles {
  const named = membersNamedBy(entries.get(manifestFile));
  const wanted = new Set([manifestFile, goldenFile, named.onnx, named.covers]);
  const files = new BundleFiles();
  files.ignored.push(...entries.ignored);
  for (const [name, bytes] of entries) {
    if (wanted.has(name)) files.set(name, bytes);
    else files.ignored.push(name);
  }
  return files;
}

/** Opens members only: a bundle may lie in a folder with other files, for example under version control. */
async function readDirectory(path: string, limits: BundleLimits): Promise<BundleFiles> {
  const present = await readdir(path).catch((error: Error) => {
    throw new BundleError(basename(path), `cannot be read: ${error.message}`, { cause: error });
  });
  const files = new BundleFiles();
  let total = 0;
  const read = async (name: string | undefined): Promise<void> => {
    if (name === undefined || files.has(name) || !present.includes(name)) return;
    const limit = name === manifestFile ? limits.manifestBytes : limits.memberBytes;
    const bytes = await readMember(path, name, Math.min(limit, limits.totalBytes - total));
    total += bytes.length;
    files.set(name, bytes);
  };
  await read(manifestFile);
  const named = membersNamedBy(files.get(manifestFile));
  await read(named.onnx);
  await read(named.covers);
  await read(goldenFile);
  files.ignored.push(...present.filter((name) => !files.has(name)));
  return files;
}

async function readMember(directory: string, name: string, limitBytes: number): Promise<Buffer> {
  // O_NOFOLLOW: a link may lead out of the bundle.
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(join(directory, name), flags).catch((error: NodeJS.ErrnoException) => {
    const reason =
      error.code === 'ELOOP'
        ? 'is a symbolic link: put the file itself into the bundle'
        : `cannot be read: ${error.message}`;
    throw new BundleError(name, reason, { cause: error });
  });
  try {
    const facts = await handle.stat();
    if (!facts.isFile()) throw new BundleError(name, 'is not a regular file');
    if (facts.size > limitBytes) {
      throw new BundleError(name, `is ${sizeText(facts.size)}, above the limit of ${sizeText(limitBytes)}`);
    }
    const bytes = await handle.readFile();
    if (bytes.length !== facts.size) throw new BundleError(name, 'changed while it was read: try again');
    return bytes;
  } finally {
    await handle.close();
  }
}
