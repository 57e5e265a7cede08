/**
 * Ms on a clock that only goes forward, and that all processes and threads of the machine share. `performance.now()`
 * begins with each process.
 */
export const machineNowMs = (): number => {
  const [seconds, nanoseconds] = process.hrtime();
  return 1_000 * seconds + nanoseconds / 1e6;
};

/** One repeated work. Times are of `machineNowMs()`. */
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
    const repetition: Repetition = { everyMs, work, dueMs: nextDueMs(everyMs, machineNowMs()) };
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
    this.timer = setTimeout(() => this.tick(), Math.max(0, firstMs - machineNowMs())).unref();
  }

  private tick(): void {
    const nowMs = machineNowMs();
    const due = [...this.repetitions].filter(({ dueMs }) => nowMs + earlyMs >= dueMs);
    for (const repetition of due) repetition.dueMs = nextDueMs(repetition.everyMs, nowMs);
    this.arm();
    for (const repetition of due) if (this.repetitions.has(repetition)) repetition.work();
  }
}

const ticks = new Ticks();

/**
 * Runs `work` at each multiple of `everyMs` on the clock of the machine. So ticks of one interval, or of a multiple,
 * wake an idle thread once: a wake costs more than most of these works. The processes of a machine tick together, so
 * the servers that they ask wake once too. A late tick leaves out those that it has missed. Keeps no process alive.
 * @param work never throws
 * @returns ends it
 */
export const everyTick = (everyMs: number, work: () => void): (() => void) => ticks.add(everyMs, work);
