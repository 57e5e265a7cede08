/** One repeated work. Times are of `performance.now()`. */
interface Repetition {
  readonly everyMs: number;
  readonly work: () => void;
  dueMs: number;
}

/** Node's timers count whole ms, and may come a fraction of one early. */
const earlyMs = 1;

const nextDueMs = (everyMs: number, nowMs: number): number => (Math.floor((nowMs + earlyMs) / everyMs) + 1) * everyMs;

/** The repeated works of a thread, on one timer. */
class Ticks {
  private readonly repetitions = new Set<Repetition>();
  private timer: NodeJS.Timeout | undefined;

  /** @returns ends the repetition */
  add(everyMs: number, work: () => void): () => void {
    const repetition: Repetition = { everyMs, work, dueMs: nextDueMs(everyMs, performance.now()) };
    this.repetitions.add(repetition);
    this.arm();
    return () => {
      this.repetitions.delete(repetition);
      if (this.repetitions.size === 0) clearTimeout(this.timer);
    };
  }

  private arm(): void {
    clearTimeout(this.timer);
    const firstMs = Math.min(...[...this.repetitions].map(({ dueMs }) => dueMs));
    this.timer = setTimeout(() => this.tick(), Math.max(0, firstMs - performance.now())).unref();
  }

  private tick(): void {
    const nowMs = performance.now();
    const due = [...this.repetitions].filter(({ dueMs }) => nowMs + earlyMs >= dueMs);
    for (const repetition of due) repetition.dueMs = nextDueMs(repetition.everyMs, nowMs);
    this.arm();
    for (const repetition of due) if (this.repetitions.has(repetition)) repetition.work();
  }
}

const ticks = new Ticks();

/**
 * Runs `work` at each multiple of `everyMs` on the clock of `performance.now()`. So ticks of one interval, or of a
 * multiple, wake an idle thread once: a wake costs more than most of these works. A late tick leaves out those that it
 * has missed. Keeps no process alive.
 * @param work never throws
 * @returns ends it
 */
export const everyTick = (everyMs: number, work: () => void): (() => void) => ticks.add(everyMs, work);
