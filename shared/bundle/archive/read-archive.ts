import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { type Extract, extract as extractTar, type Header } from 'tar-stream';
import { BundleError } from '../bundle-error.js';
import { BundleFiles, manifestFile, sizeText } from '../bundle-files.js';
import type { BundleLimits } from '../limits.js';

const oneFolder = 'put all files of the bundle in one folder';
const onlyMembers = 'remove files that the manifest does not name';

/**
 * Reads every file of a gzipped tar archive into memory, without the one folder around them. Checks the size that a
 * header claims before reading its bytes, and stops inflating at the total limit.
 * @throws BundleError naming the first bad entry, or the archive when it cannot be read
 */
export async function readArchive(path: string, limits: BundleLimits): Promise<BundleFiles> {
  const archive = basename(path);
  const extract = extractTar();
  const [fed, collected] = await Promise.allSettled([
    pipeline(createReadStream(path), createGunzip(), inflateLimit(archive, limits.totalBytes), extract),
    collect(extract, limits),
  ]);
  const failures = [collected, fed].filter((outcome) => outcome.status === 'rejected');
  const errors = failures.map((outcome): unknown => outcome.reason);
  // A failure of one side ends the other side too, so the BundleError may be on either.
  const refusal = errors.find((error) => error instanceof BundleError);
  if (refusal !== undefined) throw refusal;
  if (errors.length > 0 || collected.status === 'rejected') throw unreadable(archive, errors[0]);
  return collected.value;
}

function inflateLimit(archive: string, totalBytes: number): Transform {
  let inflated = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      inflated += chunk.length;
      if (inflated <= totalBytes) return done(null, chunk);
      const limit = sizeText(totalBytes);
      done(new BundleError(archive, `inflates to more than the limit of ${limit}: ${onlyMembers}`));
    },
  });
}

async function collect(extract: Extract, limits: BundleLimits): Promise<BundleFiles> {
  const files = new BundleFiles();
  const layout = new ArchiveLayout();
  let entries = 0;
  for await (const entry of extract) {
    entries += 1;
    if (entries > limits.entries) {
      throw new BundleError(entry.header.name, `is one of more than ${limits.entries} entries: ${onlyMembers}`);
    }
    const name = layout.memberOf(entry.header);
    if (name === undefined) {
      entry.resume();
      continue;
    }
    if (files.has(name)) throw new BundleError(name, 'is in the archive twice: pack it once');
    files.set(name, await readEntry(entry, { name, limits }));
  }
  layout.close();
  files.ignored.push(...layout.ignored);
  return files;
}

async function readEntry(
  entry: AsyncIterable<unknown> & { readonly header: Header },
  { name, limits }: { name: string; limits: BundleLimits },
): Promise<Buffer> {
  const limit = name === manifestFile ? limits.manifestBytes : limits.memberBytes;
  const claimed = entry.header.size;
  if (claimed > limit) {
    throw new BundleError(name, `is ${sizeText(claimed)}, above the limit of ${sizeText(limit)}`);
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of entry) if (chunk instanceof Uint8Array) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function unreadable(archive: string, error: unknown): BundleError {
  const detail = error instanceof Error ? error.message : String(error);
  return new BundleError(archive, `cannot be read as a directory or a .tar.gz archive: ${detail}`, {
    cause: error,
  });
}

/** Maps archive entries to member names. Files lie at the top, or in one folder as `tar czf` packs it. */
class ArchiveLayout {
  /** The `._*` files that macOS packs beside each file. */
  readonly ignored: string[] = [];
  private readonly directories = new Set<string>();
  private folder: string | undefined;

  /**
   * @returns the file's name within the bundle; undefined for a folder or an ignored file
   * @throws BundleError for links, devices, nested folders, and paths that lead out of the archive
   */
  memberOf(header: Header): string | undefined {
    const path = header.name;
    const names = safeNames(path);
    const file = names.at(-1);
    if (header.type === 'directory') {
      if (names.length > 1) throw new BundleError(path, `is a nested folder: ${oneFolder}`);
      if (file !== undefined) this.directories.add(file);
      return undefined;
    }
    if (header.type !== 'file') {
      throw new BundleError(path, `is a ${header.type}: only regular files are allowed`);
    }
    if (file === undefined) throw new BundleError(path, 'has no file name');
    if (file.startsWith('._')) {
      this.ignored.push(file);
      return undefined;
    }
    if (names.length > 2) throw new BundleError(path, `lies in a nested folder: ${oneFolder}`);
    const folder = names.length === 2 ? (names[0] ?? '') : '';
    this.folder ??= folder;
    if (folder !== this.folder) {
      throw new BundleError(path, `lies in another folder than the files before it: ${oneFolder}`);
    }
    return file;
  }

  /**
   * Checks the folders, after the last entry.
   * @throws BundleError when the archive has a folder other than the one around its files
   */
  close(): void {
    for (const directory of this.directories) {
      if (directory !== this.folder) {
        throw new BundleError(directory, `is a folder beside the files of the bundle: ${oneFolder}`);
      }
    }
  }
}

function safeNames(path: string): string[] {
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path))
    throw new BundleError(path, 'is an absolute path: pack the bundle with relative paths');
  if (/[\\\0]/.test(path)) throw new BundleError(path, 'has a backslash or a NUL in its path: rename the file');
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  if (names.includes('..'))
    throw new BundleError(path, 'leads out of the archive: pack the bundle without ".." in its paths');
  return names;
}
