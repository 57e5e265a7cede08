import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Longer than any `<model>:<version>`: each write covers the one before. */
const recordBytes = 512;
const nothing = Buffer.alloc(recordBytes, ' ');

/** Where the worker process of a slot of this pool notes what it has in hand. */
export const inHandFile = (slot: number): string =>
  join(tmpdir(), `leadscore-in-hand-${process.pid}-${slot}`);

/**
 * Notes which model a worker process is running at this moment, where it can be read when the process has died: a file
 * outlives a crash and a kill, and a write to it takes microseconds.
 */
export class InHand {
  private readonly file: number;
  private last: Promise<unknown> = Promise.resolve();
  private readonly record = Buffer.alloc(recordBytes, ' ');

  constructor(path: string) {
    this.file = openSync(path, 'w');
  }

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

  close(): void {
    closeSync(this.file);
  }
}

/** What a process has in hand, if anything. */
export function readInHand(path: string): string | undefined {
  try {
    const modelKey = readFileSync(path, 'utf8').trim();
    return modelKey === '' ? undefined : modelKey;
  } catch {
    return undefined;
  }
}

/** What a dead process had in hand, if anything; the note is removed. */
export function takeInHand(path: string): string | undefined {
  const modelKey = readInHand(path);
  rmSync(path, { force: true });
  return modelKey;
}
