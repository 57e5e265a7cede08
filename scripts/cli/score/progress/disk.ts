import { appendFile, type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf, unwritable } from '../../context/cli-error.js';

/** A file that grows at its end. */
export interface GrowingFile {
  /** Bytes written so far, including earlier runs. */
  readonly bytes: number;
  write(text: string): Promise<void>;
  /** From its end on, a power cut loses nothing that was written before. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/**
 * All changes that a run makes to files. Tests stop a run at each of them. The methods throw CliError. A power cut may
 * undo each change that is not said to outlive it, and need not undo a later one.
 */
export interface Disk {
  /**
   * Opens or creates a file. Bytes after the first `from` are cut off. A new file outlives a power cut, without its
   * content.
   */
  openFile(path: string, from: number): Promise<GrowingFile>;
  /** Adds to a file, or creates it. */
  append(path: string, text: string): Promise<void>;
  /** As `append`, and outlives a power cut, with all that the file had before. */
  appendSafely(path: string, text: string): Promise<void>;
  makeFolder(path: string): Promise<void>;
  /** Removes a file, if it exists. */
  remove(path: string): Promise<void>;
}

export const machineDisk: Disk = {
  openFile: async (path, from) => {
    try {
      const file = await open(path, from > 0 ? 'r+' : 'w');
      await file.truncate(from);
      if (from === 0) await syncFolder(dirname(path));
      return new OpenFile(file, path, from);
    } catch (error) {
      throw unwritable(path, error);
    }
  },
  append: (path, text) => toCliError(path, appendFile(path, text)),
  appendSafely: (path, text) => toCliError(path, appendSafely(path, text)),
  makeFolder: async (path) => {
    await mkdir(path).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw unwritable(path, error);
    });
    await syncFolder(dirname(path));
  },
  remove: (path) => toCliError(path, rm(path, { force: true })),
};

async function appendSafely(path: string, text: string): Promise<void> {
  const file = await open(path, 'a');
  try {
    await file.appendFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await syncFolder(dirname(path));
}

/** Makes the names in a folder outlive a power cut, where the system can: Windows opens no folders. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined);
  await folder?.sync().catch(() => undefined);
  await folder?.close();
}

class OpenFile implements GrowingFile {
  constructor(
    private readonly file: FileHandle,
    private readonly path: string,
    public bytes: number,
  ) {}

  async write(text: string): Promise<void> {
    const buffer = Buffer.from(text);
    let offset = 0;
    while (offset < buffer.length) {
      const { bytesWritten } = await toCliError(
        this.path,
        this.file.write(buffer, offset, buffer.length - offset, this.bytes + offset),
      );
      offset += bytesWritten;
    }
    this.bytes += buffer.length;
  }

  sync(): Promise<void> {
    return toCliError(this.path, this.file.datasync());
  }

  close(): Promise<void> {
    return this.file.close();
  }
}

const toCliError = <Result>(path: string, work: Promise<Result>): Promise<Result> =>
  work.catch((error: unknown) => {
    throw unwritable(path, error);
  });
