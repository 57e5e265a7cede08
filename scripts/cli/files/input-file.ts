import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { messageOf } from '../../../shared/contract/errors.js';
import { inflatedPieces } from '../../../shared/files/reading/inflate-file.js';
import { InputFault } from '../../../shared/files/reading/input-fault.js';
import { type TextForm, utf8Pieces } from '../../../shared/files/reading/text-pieces.js';
import { CliError, fileProblem } from '../context/cli-error.js';

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
  /**
   * Streams the inflated text as UTF-8 without its byte order mark. May be called only once.
   * @throws CliError when the file cannot be read
   */
  pieces(): AsyncGenerator<Buffer>;
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
 * @throws CliError when it is missing, not a regular file, or neither CSV nor JSONL by name
 */
export async function openInput(path: string): Promise<InputFile> {
  const name = basename(path);
  const format = formatOf(path);
  const found = await stat(path).catch((error: unknown) => {
    throw badInput(`Cannot read ${path}: ${fileProblem(error)}`);
  });
  if (!found.isFile()) throw badInput(`${path} is not a file`);
  const start = await firstBytes(path);
  const reading = new Reading(path, { gzipped: start.equals(Buffer.from([0x1f, 0x8b])), bytes: found.size });
  if (format === undefined) {
    // The kind of a file that is no text is more than its name, and comes with its remedy.
    try {
      for await (const _piece of reading.pieces()) break;
    } catch (error) {
      throw namedFault(error, { name });
    }
    throw badInput(`${name}: the name must end in .csv, .tsv, .jsonl or .ndjson (optionally with .gz)`);
  }
  return {
    path,
    name,
    format,
    bytes: found.size,
    modifiedAt: found.mtime,
    inflatedBytes: () => reading.inflatedBytes(),
    hasByteOrderMark: () => reading.hasByteOrderMark,
    pieces: () => reading.pieces(),
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

/** How a file is given its format: see `formatOf`. */
export const formatAdvice = {
  csv: 'give its name the end .csv',
  jsonl: 'Give its name the end .jsonl',
} as const;

const readBytes = 256 * 1024;

/** One pass over a file. */
class Reading {
  private readonly form: TextForm = { hasMark: false, encoding: 'utf-8' };
  /** Bytes on disk that were read, and bytes of UTF-8 that they became. */
  private used = 0;
  private text = 0;

  constructor(
    private readonly path: string,
    private readonly known: { readonly gzipped: boolean; readonly bytes: number },
  ) {}

  get hasByteOrderMark(): boolean {
    return this.form.hasMark;
  }

  inflatedBytes(): number {
    const { bytes, gzipped } = this.known;
    const isSame = !gzipped && this.form.encoding === 'utf-8';
    return isSame || this.used === 0 ? bytes : Math.round((this.text * bytes) / this.used);
  }

  async *pieces(): AsyncGenerator<Buffer> {
    const source = createReadStream(this.path, { highWaterMark: readBytes });
    const inflated = inflatedPieces(source, {
      inflatedBytes: Number.POSITIVE_INFINITY,
      onProgress: (read) => {
        this.used = read;
      },
    });
    try {
      for await (const piece of utf8Pieces(inflated, this.form)) {
        this.text += piece.length;
        yield piece;
      }
    } catch (error) {
      if (error instanceof InputFault) throw error;
      throw badInput(`Cannot read ${basename(this.path)} to its end: ${messageOf(error)}`);
    } finally {
      source.destroy();
    }
  }
}

/** A fault of a file as an error that names it; other errors as they are. */
export function namedFault(error: unknown, { name }: Pick<InputFile, 'name'>): unknown {
  if (!(error instanceof InputFault)) return error;
  const { message, line, column } = error;
  const position = { ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) };
  return new CliError(`${name}: ${message}`, { code: 'bad_input', details: position });
}

/** Invalid input. The message must name the position and the problem. */
export const badInput = (message: string): CliError => new CliError(message, { code: 'bad_input' });
