import { everyTick } from '../../shared/async/ticks.js';

/** The timings of production. */
export const heartbeatTimings = {
  quietMs: 1_000, // the worker renews its entry in the register at the same tick
  busyMs: 500, // a tenth of the hang limit: a chunk may block nearly as long as the limit
};

export interface HeartbeatsOptions extends Readonly<typeof heartbeatTimings> {
  /** Sends one heartbeat to the pool. */
  readonly beat: () => void;
}

/** The heartbeats of a worker process to its pool. They are rarer while it has no chunks: only a chunk can hang it. */
export class Heartbeats {
  private inFlight = 0;
  private hasWorked = false;
  private sentMs = Number.NEGATIVE_INFINITY;
  private everyMs = Number.POSITIVE_INFINITY;
  private endTicks: (() => void) | undefined;

  constructor(private readonly options: HeartbeatsOptions) {}

  /** Sends heartbeats from the next tick on. */
  start(): void {
    this.tickEvery(this.inFlight > 0 ? this.options.busyMs : this.options.quietMs);
  }

  /** Runs a work that may block the event loop. A heartbeat that became due without work is sent before. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    const { busyMs } = this.options;
    this.inFlight += 1;
    this.hasWorked = true;
    if (this.endTicks !== undefined && this.everyMs > busyMs) {
      if (performance.now() - this.sentMs > busyMs) this.send();
      this.tickEvery(busyMs);
    }
    try {
      return await work();
    } finally {
      this.inFlight -= 1;
    }
  }

  private tickEvery(everyMs: number): void {
    this.endTicks?.();
    this.everyMs = everyMs;
    this.endTicks = everyTick(everyMs, () => this.tick());
  }

  private tick(): void {
    this.send();
    if (this.everyMs !== this.options.quietMs && !this.hasWorked) this.tickEvery(this.options.quietMs);
    this.hasWorked = this.inFlight > 0;
  }

  private send(): void {
    this.sentMs = performance.now();
    this.options.beat();
  }
}
