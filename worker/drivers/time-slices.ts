import { setImmediate as nextTurn } from 'node:timers/promises';

/** Explaining holds the thread no longer than this at a time, so that a worker stays able to answer. */
const longestSliceMs = 12;

/** Cuts long work into slices: other work of the process gets its turn between them. */
export class Slices {
  private startedMs = performance.now();

  /** @param signal ends the work between two slices */
  constructor(private readonly signal?: AbortSignal) {}

  /** To be awaited between two small pieces of the work when it is set: the slice is over. */
  get isOver(): boolean {
    return performance.now() - this.startedMs > longestSliceMs;
  }

  /**
   * Lets other work run.
   * @throws the reason of the signal, when that is aborted
   */
  async next(): Promise<void> {
    await nextTurn();
    this.signal?.throwIfAborted();
    this.startedMs = performance.now();
  }
}
