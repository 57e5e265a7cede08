import { setImmediate as nextTurn } from 'node:timers/promises';

/** Explaining holds the thread no longer than this at a time, so that a worker stays able to answer. */
const longestSliceMs = 12;

/** Cuts long work into slices: other work of the process gets its turn between them. */
export class Slices {
  private startedMs = performance.now();

  /** To be awaited between two small pieces of the work when it is set: the slice is over. */
  get isOver(): boolean {
    return performance.now() - this.startedMs > longestSliceMs;
  }

  /** Lets other work run. */
  async next(): Promise<void> {
    await nextTurn();
    this.startedMs = performance.now();
  }
}
