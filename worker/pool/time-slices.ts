import { setImmediate as nextStep } from 'node:timers/promises';
import { noted } from './crash-note.js';

/** Upper bound of uninterrupted work. A single step may exceed it. */
const maxSliceMs = 12;

/** Records without long cells in one step: reading the clock takes as long as reading such a record. */
export const quickRecords = 16;

/** Work that may be interrupted at each `yield`. */
export type Steps<Result> = Generator<undefined, Result>;

/**
 * Divides work that may take seconds into time slices: reading hostile values, explaining. Between them the process
 * sends its heartbeat, renews its locks, sees that a chunk is abandoned, and works on its other chunk.
 */
export class TimeSlices {
  private startedMs = performance.now();

  /** @param signal aborts the work between two slices */
  constructor(private readonly signal?: AbortSignal) {}

  /** Whether the slice has used its time; the caller then awaits `next()`. */
  get isOver(): boolean {
    return performance.now() - this.startedMs > maxSliceMs;
  }

  /**
   * Yields to the event loop and starts the next slice.
   * @throws the reason of the signal if it is aborted
   */
  async next(): Promise<void> {
    await nextStep();
    this.signal?.throwIfAborted();
    this.startedMs = performance.now();
  }

  /**
   * Runs all steps of a chunk's work, and notes the chunk meanwhile.
   * @throws what the work throws, and the reason of the signal if it is aborted
   */
  async run<Result>(work: Steps<Result>): Promise<Result> {
    this.startedMs = performance.now();
    for (;;) {
      const step = noted(() => this.slice(work));
      if (step.done === true) return step.value;
      await this.next();
    }
  }

  private slice<Result>(work: Steps<Result>): IteratorResult<undefined, Result> {
    for (;;) {
      const step = work.next();
      if (step.done === true || this.isOver) return step;
    }
  }
}

/** Runs all steps of short work at once. */
export function atOnce<Result>(work: Steps<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
