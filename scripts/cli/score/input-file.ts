import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { pipeline } from 'node:stream';
import { createGunzip, type Gunzip } from 'node:zlib';
import { messageOf } from '../../../shared/errors.js';
import { CliError } from '../cli-error.js';
import { fileProblem } from '../file-problem.js';

export type RecordFormat = 'csv' | 'jsonl';

/** A file of records: what it is and how far it has been read. */
export interface InputFile {
  readonly path: string;
  /** Without its folder, for messages. */
  readonly name: string;
  readonly format: RecordFormat;
  /** As it lies on disk. */
  readonly bytes: number;
  readonly modifiedAt: Date;
  /** Bytes of the inflated file, as far as is known: exact for a plain one, an estimate while a gzipped one is read. */
  inflatedBytes(): number;
  /** The text, piece by piece, inflated when the content is gzip. To be called once. */
  texts(): AsyncGenerator<string>;
}

/** The format that a file's name says, `.gz` left aside; undefined when it says neither. */
export function formatOf(path: string): RecordFormat | undefined {
  const name = path.toLowerCase().replace(/\.gz$/, '');
  if (/\.(csv|tsv)$/.test(name)) return 'csv';
  if (/\.(jsonl|ndjson)$/.test(name)) return 'jsonl';
  return undefined;
}

/**
 * Looks at a file of records, without reading it yet.
 * @throws CliError when it is not there, is no file, is UTF-16, or its name says neither CSV nor JSONL
 */
export async function openInput(path: string): Promise<InputFile> {
  const name = basename(path);
  const format = formatOf(path);
  if (format === undefined)
    throw badInput(
      `${name}: the name must end in .csv, .tsv, .jsonl or .ndjson (and .gz when it is gzipped)`,
    );
  const found = await stat(path).catch((error: unknown) => {
    throw badInput(`${path} cannot be read: ${fileProblem(error)}`);
  });
  if (!found.isFile()) throw badInput(`${path} is no file`);
  const start = await firstBytes(path);
  if (start.equals(Buffer.from([0xff, 0xfe])) || start.equals(Buffer.from([0xfe, 0xff])))
    throw badInput(`${name} is UTF-16. Save it as UTF-8, or: iconv -f UTF-16 -t UTF-8 ${name}`);
  const reading = new Reading(path, { gzipped: start.equals(Buffer.from([0x1f, 0x8b])), bytes: found.size });
  return {
    path,
    name,
    format,
    bytes: found.size,
    modifiedAt: found.mtime,
    inflatedBytes: () => reading.inflatedBytes(),
    texts: () => reading.texts(),
  };
}

async function firstBytes(path: string): Promise<Buffer> {
  try {
    const file = await open(path, 'r');
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw badInput(`${path} cannot be read: ${fileProblem(error)}`);
  }
}

/** One pass over a file. */
class Reading {
  /** What counts the bytes of the file that have been used, as they lie on disk. */
  private gunzip: Gunzip | undefined;
  private inflated = 0;
  private lines = 1;

  constructor(
    private readonly path: string,
    private readonly known: { readonly gzipped: boolean; readonly bytes: number },
  ) {}

  inflatedBytes(): number {
    if (!this.known.gzipped) return this.known.bytes;
    const used = this.gunzip?.bytesWritten ?? 0;
    return used === 0 ? this.known.bytes : Math.round((this.inflated * this.known.bytes) / used);
  }

  async *texts(): AsyncGenerator<string> {
    // A byte order mark at the beginning is taken off by the decoder.
    const decoder = new TextDecoder('utf-8', { fatal: true });
    for await (const bytes of this.chunks()) {
      this.inflated += bytes.length;
      const text = this.decode(() => decoder.decode(bytes, { stream: true }));
      yield text;
      this.lines += text.split('\n').length - 1;
    }
    yield this.decode(() => decoder.decode());
  }

  private async *chunks(): AsyncGenerator<Buffer> {
    const source = createReadStream(this.path);
    if (this.known.gzipped) this.gunzip = createGunzip();
    const stream = this.gunzip === undefined ? source : pipeline(source, this.gunzip, () => undefined);
    try {
      for await (const bytes of stream) yield bytes;
    } catch (error) {
      throw badInput(`${basename(this.path)} cannot be read to its end: ${messageOf(error)}`);
    } finally {
      source.destroy();
    }
  }

  private decode(decoded: () => string): string {
    try {
      return decoded();
    } catch {
      throw badInput(
        `${basename(this.path)} is not UTF-8 (after line ${this.lines}). Save it as UTF-8, or convert it: iconv -f WINDOWS-1252 -t UTF-8 FILE`,
      );
    }
  }
}

/** The input cannot be used; the message says where and why. */
export const badInput = (message: string): CliError => new CliError(message, { code: 'bad_input' });
