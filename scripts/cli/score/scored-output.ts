import { type FileHandle, open } from 'node:fs/promises';
import type { OutputStream } from '../cli-context.js';
import { unwritable } from '../file-problem.js';

/** Where results go. */
export interface ScoredOutput {
  /** Bytes written so far, those of earlier runs included. */
  readonly bytes: number;
  write(text: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * A file that is written on from a point.
 * @param from bytes that stay; what lies behind is cut off. 0 for a new file, which must not be there yet unless
 * `overwrite`
 * @throws the system's own error where it cannot be opened, CliError where it cannot be written
 */
export async function fileOutput(
  path: string,
  { from, overwrite }: { readonly from: number; readonly overwrite: boolean },
): Promise<ScoredOutput> {
  const flags = from > 0 ? 'r+' : overwrite ? 'w' : 'wx';
  const file = await open(path, flags);
  await file.truncate(from);
  return new FileOutput(file, path, from);
}

class FileOutput implements ScoredOutput {
  constructor(
    private readonly file: FileHandle,
    private readonly path: string,
    public bytes: number,
  ) {}

  async write(text: string): Promise<void> {
    const buffer = Buffer.from(text);
    let offset = 0;
    while (offset < buffer.length) {
      const { bytesWritten } = await this.file
        .write(buffer, offset, buffer.length - offset, this.bytes + offset)
        .catch((error: unknown) => {
          throw unwritable(this.path, error);
        });
      offset += bytesWritten;
    }
    this.bytes += buffer.length;
  }

  close(): Promise<void> {
    return this.file.close();
  }
}

/** A stream that belongs to somebody else, such as standard output. */
export function streamOutput(stream: OutputStream): ScoredOutput {
  let bytes = 0;
  return {
    get bytes() {
      return bytes;
    },
    write: async (text) => {
      bytes += Buffer.byteLength(text);
      if (stream.write(text)) return;
      await new Promise<void>((resolve) => stream.once('drain', resolve));
    },
    close: async () => undefined,
  };
}
