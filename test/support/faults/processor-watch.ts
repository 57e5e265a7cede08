import { waitedForProcessorMs } from '../../../scripts/chaos/check/watch-processors.js';
import type { FaultService } from './fault-service.js';

interface Reading {
  readonly atMs: number;
  /** Ms that each process has been runnable without a CPU since its start, by process id. */
  readonly waitedMs: ReadonlyMap<number, number>;
}

/** `all` adds this process, Redis, and the workers that run at the beginning. */
type Watched = 'gateways' | 'all';

const everyMs = 100;

/**
 * Measures how long processes of a service were runnable without a CPU, because other work on the machine must not fail
 * a test. Only Linux reports this time; elsewhere it is 0. MongoDB is not watched: its threads wait independently.
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
   * @returns the measurements and the result of the work
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

  /** The longest wait of one process between two times by `performance.now()`, ms. */
  maxWaitMs(fromMs: number, toMs: number): number {
    const before = this.readings.findLastIndex(({ atMs }) => atMs <= fromMs);
    const after = this.readings.findIndex(({ atMs }) => atMs >= toMs);
    const between = this.readings.slice(Math.max(0, before), after < 0 ? undefined : after + 1);
    let maxMs = 0;
    for (const { waitedMs } of between)
      for (const [pid, waited] of waitedMs) maxMs = Math.max(maxMs, waited - (between[0]?.waitedMs.get(pid) ?? 0));
    return maxMs;
  }

  private stop(): void {
    clearInterval(this.timer);
    this.read();
  }

  private read(): void {
    const { cluster } = this.service;
    const pids = [...this.workers, ...cluster.gateways.flatMap(({ service }) => service?.pid ?? [])];
    if (this.which === 'all') pids.push(process.pid, cluster.server('redis').pid);
    const waited = pids.flatMap((pid): [number, number][] => {
      const waitedMs = waitedForProcessorMs(pid);
      return waitedMs === undefined ? [] : [[pid, waitedMs]];
    });
    this.readings.push({ atMs: performance.now(), waitedMs: new Map(waited) });
  }
}
