import { AsyncLocalStorage } from 'node:async_hooks';
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChunkHead } from '../../shared/messages/score-job.js';

/** Longer than any note, so that each write covers the whole of the one before. */
const recordBytes = 1_024;
const emptyRecord = Buffer.alloc(recordBytes, ' ');

/** The worker process's descriptor of its note: follows stdin, stdout, stderr and the IPC channel. */
export const noteDescriptor = 4;

/** The chunk that a worker process works on, as its note names it. */
export type ChunkInHand = Pick<ChunkHead, 'chunk' | 'partition' | 'gateway' | 'model' | 'version'>;

/**
 * The pool's end of a crash note: the file in which a worker process writes the chunk that it works on. A file survives
 * a crash and a SIGKILL of the writer. The file is unlinked after opening: it disappears with the last process and
 * cannot be replaced by another user.
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

  /** The chunk that the worker process works on, if any. */
  read(): ChunkInHand | undefined {
    const bytes = Buffer.alloc(recordBytes);
    const text = bytes.toString('utf8', 0, readSync(this.descriptor, bytes, 0, recordBytes, 0)).trim();
    return text === '' ? undefined : (JSON.parse(text) as ChunkInHand);
  }

  close(): void {
    closeSync(this.descriptor);
  }
}

/** The worker's end of a crash note. One write takes microseconds. */
export class CrashNoteWriter {
  private lastRun: Promise<unknown> = Promise.resolve();
  private written: Buffer = emptyRecord;

  /** @param file descriptor of the note */
  constructor(private readonly file: number) {}

  /** Runs `work` for a chunk, which `noted` and `duringRun` then find wherever `work` calls and awaits them. */
  forChunk<Result>({ chunk, partition, gateway, model, version }: ChunkInHand, work: () => Result): Result {
    const record = Buffer.alloc(recordBytes, ' ');
    record.write(JSON.stringify({ chunk, partition, gateway, model, version } satisfies ChunkInHand));
    return inHand.run({ writer: this, record }, work);
  }

  /**
   * Notes the chunk while `run` runs native code. Runs are serialized: native code blocks the thread in any case, and a
   * crash is then never blamed on another chunk.
   */
  duringRun<Result>(run: () => Promise<Result>): Promise<Result> {
    const result = this.lastRun.then(async () => {
      this.write(inHand.getStore()?.record ?? emptyRecord);
      try {
        return await run();
      } finally {
        this.write(emptyRecord);
      }
    });
    this.lastRun = result.catch(() => undefined);
    return result;
  }

  /** Notes a chunk while synchronous `work` runs; afterwards the note names the native run that waits, if any. */
  during<Result>(record: Buffer, work: () => Result): Result {
    const before = this.written;
    this.write(record);
    try {
      return work();
    } finally {
      this.write(before);
    }
  }

  private write(record: Buffer): void {
    this.written = record;
    writeSync(this.file, record, 0, recordBytes, 0);
  }
}

/** The chunk that the running code works for. */
const inHand = new AsyncLocalStorage<{ readonly writer: CrashNoteWriter; readonly record: Buffer }>();

/** Notes the chunk, if there is one, while `work` runs: hostile records may prolong it. */
export function noted<Result>(work: () => Result): Result {
  const held = inHand.getStore();
  return held === undefined ? work() : held.writer.during(held.record, work);
}
