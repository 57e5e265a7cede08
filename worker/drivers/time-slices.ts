import { setImmediate as nextTurn } from 'node:timers/promises';

/** Upper bound of uninterrupted work, so that a worker stays responsive. */
const maxSliceMs = 12;

/** Divides long work into time slices; other work of the process runs between them. */
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
    await nextTurn();
    this.signal?.throwIfAborted();
    this.startedMs = performance.now();
  }
}
