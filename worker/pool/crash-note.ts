import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Longer than any `<model>:<version>`, so that each write covers the whole of the one before. */
const recordBytes = 512;
const emptyRecord = Buffer.alloc(recordBytes, ' ');

/** The worker process's descriptor of its note: follows stdin, stdout, stderr and the IPC channel. */
export const noteDescriptor = 4;

/**
 * The pool's end of a crash note: the file in which a worker process writes the model that it is running. A file
 * survives a crash and a SIGKILL of the writer. The file is unlinked after opening: it disappears with the last process
 * and cannot be replaced by another user.
 */
export class CrashNote {
  /** Passed to the worker process as its `noteDescriptor`. */
  readonly descriptor: number;

  constructor() {
    const directory = mkdtempSync(join(tmpdir(), 'leadscore-crash-note-'));
    try {
      this.descriptor = openSync(join(directory, 'note'), 'wx+', 0o600);
    } finally {
      rmSync(directory, { recursive: true });
    }
  }

  /** The `<model>:<version>` that the worker process is running, if any. */
  read(): string | undefined {
    const bytes = Buffer.alloc(recordBytes);
    const modelKey = bytes.toString('utf8', 0, readSync(this.descriptor, bytes, 0, recordBytes, 0)).trim();
    return modelKey === '' ? undefined : modelKey;
  }

  close(): void {
    closeSync(this.descriptor);
  }
}

/** The worker's end of a crash note. One write takes microseconds. */
export class CrashNoteWriter {
  private last: Promise<unknown> = Promise.resolve();
  private readonly record = Buffer.alloc(recordBytes, ' ');

  /** @param file descriptor of the note */
  constructor(private readonly file: number) {}

  /**
   * Writes the model into the note while `run` runs. Runs are serialized: native code blocks the thread in any case,
   * and a crash is then never blamed on another model.
   */
  during<Result>(modelKey: string, run: () => Promise<Result>): Promise<Result> {
    const result = this.last.then(() => this.noted(modelKey, run));
    this.last = result.catch(() => undefined);
    return result;
  }

  private async noted<Result>(modelKey: string, run: () => Promise<Result>): Promise<Result> {
    this.record.fill(' ');
    this.record.write(modelKey, 0, recordBytes, 'utf8');
    writeSync(this.file, this.record, 0, recordBytes, 0);
    try {
      return await run();
    } finally {
      writeSync(this.file, emptyRecord, 0, recordBytes, 0);
    }
  }
}
