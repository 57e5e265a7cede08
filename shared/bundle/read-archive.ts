import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { type Extract, extract as extractTar, type Header } from 'tar-stream';
import { ArchiveLayout } from './archive-layout.js';
import { BundleError } from './bundle-error.js';
import { BundleFiles, MANIFEST_FILE } from './bundle-files.js';
import { type BundleLimits, sizeText } from './bundle-limits.js';

/**
 * Reads every file of a gzipped tar archive into memory, stopping at the first thing that a bundle may not hold:
 * a size claimed by a header is judged before its bytes are read, and inflating stops at the total limit.
 * @param path the archive
 * @param limits sizes in bytes, and the number of entries
 * @returns the archive's files by name, the one folder around them taken off
 * @throws BundleError naming the entry, or the archive when it cannot be read as one
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
  // Either side's failure ends the other one, so the refusal that started it may be on either.
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
      done(new BundleError(archive, `inflates to more than the limit of ${sizeText(totalBytes)}`));
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
      throw new BundleError(entry.header.name, `is one of more than ${limits.entries} entries`);
    }
    const name = layout.place(entry.header);
    if (name === undefined) {
      entry.resume();
      continue;
    }
    if (files.has(name)) throw new BundleError(name, 'is in the archive twice');
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
  const limit = name === MANIFEST_FILE ? limits.manifestBytes : limits.memberBytes;
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
