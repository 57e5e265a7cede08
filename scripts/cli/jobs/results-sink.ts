import { type FileHandle, open, rm } from 'node:fs/promises';
import type { OutputStream } from '../context/cli-context.js';
import { codeOf, unwritable } from '../context/cli-error.js';

/** Where downloaded bytes go. */
export interface ResultsSink {
  /** A path, or `-` for a stream. */
  readonly name: string;
  /** Bytes that it has. */
  readonly bytes: number;
  /** Its last bytes, at most `max`; none when they cannot be read again. */
  tail(max: number): Promise<Buffer>;
  write(bytes: Buffer): Promise<void>;
  /** Removes all bytes. @returns false when they cannot be taken back */
  clear(): Promise<boolean>;
  close(): Promise<void>;
}

/** Opens a file for appending. An existing one keeps its bytes. @throws CliError */
export async function fileSink(path: string): Promise<ResultsSink> {
  const failed = (error: unknown): never => {
    throw unwritable(path, error);
  };
  const existing = await open(path, 'r+').catch((error: unknown) =>
    codeOf(error) === 'ENOENT' ? undefined : failed(error),
  );
  const file = existing ?? (await open(path, 'w+').catch(failed));
  const { size } = await file.stat();
  return new FileSink(path, file, size);
}

class FileSink implements ResultsSink {
  constructor(
    readonly name: string,
    private readonly file: FileHandle,
    public bytes: number,
  ) {}

  async tail(max: number): Promise<Buffer> {
    const length = Math.min(max, this.bytes);
    const { buffer, bytesRead } = await this.file.read(Buffer.alloc(length), 0, length, this.bytes - length);
    return buffer.subarray(0, bytesRead);
  }

  async write(bytes: Buffer): Promise<void> {
    let offset = 0;
    while (offset < bytes.length) {
      const { bytesWritten } = await this.file
        .write(bytes, offset, bytes.length - offset, this.bytes)
        .catch((error: unknown) => {
          throw unwritable(this.name, error);
        });
      offset += bytesWritten;
      this.bytes += bytesWritten;
    }
  }

  async clear(): Promise<boolean> {
    await this.file.truncate(0);
    this.bytes = 0;
    return true;
  }

  /** Leaves no empty file behind. */
  async close(): Promise<void> {
    await this.file.close();
    if (this.bytes === 0) await rm(this.name, { force: true });
  }
}

/** Writes to a stream, which stays open. */
export function streamSink(stream: OutputStream): ResultsSink {
  let written = 0;
  return {
    name: '-',
    get bytes() {
      return written;
    },
    tail: async () => Buffer.alloc(0),
    write: async (bytes) => {
      written += bytes.length;
      if (stream.write(bytes)) return;
      await new Promise<void>((resolve) => stream.once('drain', resolve));
    },
    clear: async () => written === 0,
    close: async () => undefined,
  };
}
