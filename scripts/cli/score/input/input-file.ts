import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { pipeline } from 'node:stream';
import { createGunzip, type Gunzip } from 'node:zlib';
import { messageOf } from '../../../../shared/contract/errors.js';
import { CliError, fileProblem } from '../../context/cli-error.js';

/** One record of the input file, ready to be sent. */
export interface InputRecord {
  /** Record number from 1. Counts empty rows but not the CSV header. */
  readonly row: number;
  /** First line of the record, from 1. */
  readonly line: number;
  /** The record as JSON; undefined for an empty row, which is not sent. */
  readonly text: string | undefined;
  /** All cells of a row of a CSV, as many as the header has. Absent for JSONL and for an empty row. */
  readonly cells?: readonly string[];
  /** Bytes of the inflated file up to the end of this record. */
  readonly endByte: number;
}

export interface RecordOptions {
  /** Column or field with the crm_id; undefined means `crm_id`, if it exists. */
  readonly crmIdField: string | undefined;
  /**
   * Receives the names under which values are sent, including `crm_id`. Called once with the columns of a CSV, before
   * its first record, or with the keys of each JSONL record.
   */
  readonly onNames?: ((names: readonly string[]) => void) | undefined;
  /** Receives the header of a CSV, before its first record. */
  readonly onHeader?: ((header: CsvHeader) => void) | undefined;
}

/** The header of a CSV as it is written. */
export interface CsvHeader {
  /** All columns in their order. A column without a name has an empty one. */
  readonly names: readonly string[];
  readonly delimiter: string;
}

export type RecordFormat = 'csv' | 'jsonl';

/** An input file and its reading progress. */
export interface InputFile {
  readonly path: string;
  /** File name without the folder, for messages. */
  readonly name: string;
  readonly format: RecordFormat;
  /** Size on disk. */
  readonly bytes: number;
  readonly modifiedAt: Date;
  /** Size after inflation in bytes: exact for a plain file, an estimate while a gzipped one is read. */
  inflatedBytes(): number;
  /** Whether the text begins with a byte order mark. Known once its first characters were read. */
  hasByteOrderMark(): boolean;
  /** Streams the inflated text without its byte order mark. May be called only once. */
  texts(): AsyncGenerator<string>;
}

/** Format by file name, ignoring `.gz`; undefined for other names. */
export function formatOf(path: string): RecordFormat | undefined {
  const name = path.toLowerCase().replace(/\.gz$/, '');
  if (/\.(csv|tsv)$/.test(name)) return 'csv';
  if (/\.(jsonl|ndjson)$/.test(name)) return 'jsonl';
  return undefined;
}

/**
 * Inspects an input file without reading its records.
 * @throws CliError when it is missing, not a regular file, UTF-16, or neither CSV nor JSONL by name
 */
export async function openInput(path: string): Promise<InputFile> {
  const name = basename(path);
  const format = formatOf(path);
  if (format === undefined)
    throw badInput(`${name}: the name must end in .csv, .tsv, .jsonl or .ndjson (optionally with .gz)`);
  const found = await stat(path).catch((error: unknown) => {
    throw badInput(`Cannot read ${path}: ${fileProblem(error)}`);
  });
  if (!found.isFile()) throw badInput(`${path} is not a file`);
  const start = await firstBytes(path);
  if (start.equals(Buffer.from([0xff, 0xfe])) || start.equals(Buffer.from([0xfe, 0xff])))
    throw badInput(`${name} is UTF-16. Save it as UTF-8, or convert it: iconv -f UTF-16 -t UTF-8 ${name}`);
  const reading = new Reading(path, { gzipped: start.equals(Buffer.from([0x1f, 0x8b])), bytes: found.size });
  return {
    path,
    name,
    format,
    bytes: found.size,
    modifiedAt: found.mtime,
    inflatedBytes: () => reading.inflatedBytes(),
    hasByteOrderMark: () => reading.hasByteOrderMark,
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
    throw badInput(`Cannot read ${path}: ${fileProblem(error)}`);
  }
}

export const byteOrderMark = '\uFEFF';

/** One pass over a file. */
class Reading {
  /** Its `bytesWritten` counts the compressed bytes that were consumed. */
  private gunzip: Gunzip | undefined;
  hasByteOrderMark = false;
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
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    let isStart = true;
    for await (const bytes of this.chunks()) {
      this.inflated += bytes.length;
      let text = this.decode(() => decoder.decode(bytes, { stream: true }));
      if (isStart && text !== '') {
        isStart = false;
        this.hasByteOrderMark = text.startsWith(byteOrderMark);
        if (this.hasByteOrderMark) text = text.slice(1);
      }
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
      throw badInput(`Cannot read ${basename(this.path)} to its end: ${messageOf(error)}`);
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

/** Invalid input. The message must name the place and the problem. */
export const badInput = (message: string): CliError => new CliError(message, { code: 'bad_input' });
