import { writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { type Header, pack } from 'tar-stream';

/** An entry of an archive: a file unless `type` says otherwise. */
export interface TarEntry {
  readonly name: string;
  readonly bytes?: Buffer;
  readonly type?: Header['type'];
  readonly linkname?: string;
  /** Extended header fields. They override the plain header. */
  readonly pax?: Readonly<Record<string, string>>;
}

/** The bytes of a tar archive of these entries. */
export async function tarArchive(entries: readonly TarEntry[]): Promise<Buffer> {
  const archive = pack();
  for (const { bytes, ...header } of entries) {
    if (bytes === undefined) archive.entry(header);
    else archive.entry(header, bytes);
  }
  archive.finalize();
  const chunks: Uint8Array[] = [];
  for await (const chunk of archive) if (chunk instanceof Uint8Array) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Writes a gzipped archive of these entries. */
export async function writeTarGz(path: string, entries: readonly TarEntry[]): Promise<void> {
  await writeFile(path, gzipSync(await tarArchive(entries)));
}

/** The entries of files by name, in a folder; at the top level if its name is empty. */
export function tarEntries(files: ReadonlyMap<string, Buffer>, folder: string): TarEntry[] {
  return [...files].map(([name, bytes]) => ({ name: folder === '' ? name : `${folder}/${name}`, bytes }));
}
