import { waitedForProcessorMs } from '../../../scripts/chaos/check/watch-processors.js';
import type { FaultService } from './fault-service.js';

interface Reading {
  readonly atMs: number;
  /** Ms that each process has been runnable without a CPU since its start, by its name and process id. */
  readonly waitedMs: ReadonlyMap<string, number>;
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
    return Math.max(0, ...Object.values(this.waitsMs(fromMs, toMs)));
  }

  /** The wait of each process between two times by `performance.now()`, ms, by its name and process id. */
  waitsMs(fromMs: number, toMs: number): Readonly<Record<string, number>> {
    const before = this.readings.findLastIndex(({ atMs }) => atMs <= fromMs);
    const after = this.readings.findIndex(({ atMs }) => atMs >= toMs);
    const between = this.readings.slice(Math.max(0, before), after < 0 ? undefined : after + 1);
    const waits: Record<string, number> = {};
    for (const { waitedMs } of between)
      for (const [name, waited] of waitedMs)
        waits[name] = Math.max(waits[name] ?? 0, waited - (between[0]?.waitedMs.get(name) ?? 0));
    return waits;
  }

  private stop(): void {
    clearInterval(this.timer);
    this.read();
  }

  private read(): void {
    const { cluster } = this.service;
    const watched: [name: string, pid: number][] = this.workers.map((pid) => ['worker', pid]);
    for (const { service } of cluster.gateways) if (service !== undefined) watched.push(['gateway', service.pid]);
    if (this.which === 'all') watched.push(['test', process.pid], ['redis', cluster.server('redis').pid]);
    const waited = watched.flatMap(([name, pid]): [string, number][] => {
      const waitedMs = waitedForProcessorMs(pid);
      return waitedMs === undefined ? [] : [[`${name} ${pid}`, waitedMs]];
    });
    this.readings.push({ atMs: performance.now(), waitedMs: new Map(waited) });
  }
}
