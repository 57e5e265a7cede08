import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { messageOf } from '../../../shared/contract/errors.js';
import { inflatedPieces } from '../../../shared/files/reading/inflate-file.js';
import { InputFault } from '../../../shared/files/reading/input-fault.js';
import { utf8Pieces } from '../../../shared/files/reading/text-pieces.js';
import { CliError, fileProblem } from '../context/cli-error.js';

/** A file of outcomes, as it is read. */
export interface OutcomeFile {
  /** Without the folder, for messages. */
  readonly name: string;
  /** UTF-8 without byte order mark. May be read once. @throws InputFault; CliError when the file cannot be read */
  pieces(): AsyncGenerator<Buffer>;
  /** The part of the file that was read. */
  readonly fraction: number;
}

const readBytes = 256 * 1024;

/** Opens a CSV, also as gzip. @throws CliError when it is missing or not a regular file */
export async function openOutcomeFile(path: string): Promise<OutcomeFile> {
  const name = basename(path);
  const found = await stat(path).catch((error: unknown) => {
    throw badInput(`Cannot read ${path}: ${fileProblem(error)}`);
  });
  if (!found.isFile()) throw badInput(`${path} is not a file`);
  let used = 0;
  return {
    name,
    get fraction() {
      return Math.min(1, used / Math.max(1, found.size));
    },
    async *pieces() {
      const source = createReadStream(path, { highWaterMark: readBytes });
      const onProgress = (read: number): void => {
        used = read;
      };
      const inflated = inflatedPieces(source, { inflatedBytes: Number.POSITIVE_INFINITY, onProgress });
      try {
        yield* utf8Pieces(inflated, { hasMark: false, encoding: 'utf-8' });
      } catch (error) {
        if (error instanceof InputFault) throw error;
        throw badInput(`Cannot read ${name} to its end: ${messageOf(error)}`);
      } finally {
        source.destroy();
      }
    },
  };
}

/** An error of the file that names it; other errors as they are. */
export function namedFault(error: unknown, { name }: Pick<OutcomeFile, 'name'>): unknown {
  if (!(error instanceof InputFault)) return error;
  const { message, line, column } = error;
  const details = { ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) };
  return new CliError(`${name}: ${message}`, { code: 'bad_input', details });
}

const badInput = (message: string): CliError => new CliError(message, { code: 'bad_input' });
