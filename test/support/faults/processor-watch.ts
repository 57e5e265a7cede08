import { waitedForProcessorMs } from '../../../scripts/chaos/check/watch-processors.js';
import type { FaultService } from './fault-service.js';

interface Reading {
  readonly atMs: number;
  /** By process id: for how long it has waited since it began, ms. */
  readonly waitedMs: ReadonlyMap<number, number>;
}

/** `gateways`: whose calls are timed; `all`: with this process, Redis, and the workers that there are when it begins. */
type Watched = 'gateways' | 'all';

const everyMs = 100;

/**
 * Watches for how long processes of a service were ready to run and the machine gave them no processor: what
 * other work on the machine costs is not the service's doing. Only Linux tells; elsewhere nobody ever waits. MongoDB is left
 * out, whose threads wait each for itself.
 */
export class ProcessorWatch {
  private readonly readings: Reading[] = [];
  private readonly workers: readonly number[];
  private readonly timer: NodeJS.Timeout;

  private constructor(
    private readonly service: FaultService,
    private readonly which: Watched,
  ) {
    this.workers = which === 'all' ? service.cluster.workerPids() : [];
    this.read();
    this.timer = setInterval(() => this.read(), everyMs);
    this.timer.unref();
  }

  /**
   * Watches while `work` runs.
   * @returns what was seen, and what the work gave
   */
  static async during<Result>(
    service: FaultService,
    which: Watched,
    work: () => Promise<Result>,
  ): Promise<[watch: ProcessorWatch, result: Result]> {
    const watch = new ProcessorWatch(service, which);
    try {
      return [watch, await work()];
    } finally {
      watch.stop();
    }
  }

  /** How long the one that waited most has waited between two moments, in the terms of `performance.now()`. */
  maxWaitMs(fromMs: number, toMs: number): number {
    const before = this.readings.findLastIndex(({ atMs }) => atMs <= fromMs);
    const after = this.readings.findIndex(({ atMs }) => atMs >= toMs);
    const between = this.readings.slice(Math.max(0, before), after < 0 ? undefined : after + 1);
    let maxMs = 0;
    for (const { waitedMs } of between)
      for (const [pid, waited] of waitedMs)
        maxMs = Math.max(maxMs, waited - (between[0]?.waitedMs.get(pid) ?? 0));
    return maxMs;
  }

  private stop(): void {
    clearInterval(this.timer);
    this.read();
  }

  private read(): void {
    const { cluster } = this.service;
    const pids = [...this.workers, ...cluster.gateways.flatMap(({ gateway }) => gateway?.pid ?? [])];
    if (this.which === 'all') pids.push(process.pid, cluster.server('redis').pid);
    const waited = pids.flatMap((pid): [number, number][] => {
      const waitedMs = waitedForProcessorMs(pid);
      return waitedMs === undefined ? [] : [[pid, waitedMs]];
    });
    this.readings.push({ atMs: performance.now(), waitedMs: new Map(waited) });
  }
}
