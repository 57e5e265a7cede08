import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Longer than any `<model>:<version>`: each write covers the one before. */
const recordBytes = 512;
const nothing = Buffer.alloc(recordBytes, ' ');

/** Where a worker process finds its note: after its three outputs and inputs and the channel to the pool. */
export const noteDescriptor = 4;

/**
 * What a worker process notes, on the pool's side: it can be read when the process has died, however it died. The file has
 * no name any more: whoever ends how, nothing of it is left, and nobody can put another in its place.
 */
export class CrashNote {
  /** To be handed to the process as its `noteDescriptor`. */
  readonly descriptor: number;

  constructor() {
    const directory = mkdtempSync(join(tmpdir(), 'leadscore-in-hand-'));
    try {
      this.descriptor = openSync(join(directory, 'note'), 'wx+', 0o600);
    } finally {
      rmSync(directory, { recursive: true });
    }
  }

  /** The `<model>:<version>` that the process has in hand, if any. */
  read(): string | undefined {
    const bytes = Buffer.alloc(recordBytes);
    const modelKey = bytes.toString('utf8', 0, readSync(this.descriptor, bytes, 0, recordBytes, 0)).trim();
    return modelKey === '' ? undefined : modelKey;
  }

  close(): void {
    closeSync(this.descriptor);
  }
}

/**
 * Notes which model a worker process is running at this moment, where the pool can read it when the process has died: a
 * file outlives a crash and a kill, and a write to it takes microseconds.
 */
export class CrashNoteWriter {
  private last: Promise<unknown> = Promise.resolve();
  private readonly record = Buffer.alloc(recordBytes, ' ');

  /** @param file the descriptor of the note */
  constructor(private readonly file: number) {}

  /**
   * Notes a model while `run` runs; the thread may never come back from it. One at a time: native code takes the whole
   * thread anyway, and a death is then never blamed on the wrong model.
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
      writeSync(this.file, nothing, 0, recordBytes, 0);
    }
  }
}
