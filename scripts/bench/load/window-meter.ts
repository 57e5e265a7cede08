import { machineBusyMs, type ProcessGroups, readUsage } from '../../servers/process-usage.js';
import { byPart } from '../report/figures.js';
import { percentile } from '../report/percentile.js';
import type { LoadReport, SampledCall, WindowPlan } from './messages.js';

type Reading = ReturnType<WindowMeter['read']>;

/**
 * Measures one window: warm-up, then a reading of the clock and of all CPU times at both ends of the window. The
 * process that makes the load takes both readings between two calls, so they belong to exactly the counted calls.
 */
export class WindowMeter {
  readonly samples: SampledCall[] = [];
  private readonly latenciesMs: number[] = [];
  private opening: Reading | undefined;
  private closing: Reading | undefined;
  private records = 0;
  private failure: unknown;

  constructor(private readonly groups: ProcessGroups) {}

  /** @param load must end once `isOver` is true */
  async measure({ warmUpMs, windowMs }: WindowPlan, load: Promise<unknown>): Promise<LoadReport> {
    const opens = setTimeout(() => {
      this.opening = this.read();
    }, warmUpMs);
    const closes = setTimeout(() => {
      this.closing = this.read();
    }, warmUpMs + windowMs);
    await load.finally(() => {
      clearTimeout(opens);
      clearTimeout(closes);
    });
    if (this.failure !== undefined) throw this.failure;
    return this.report();
  }

  get isOver(): boolean {
    return this.closing !== undefined || this.failure !== undefined;
  }

  get isOpen(): boolean {
    return this.opening !== undefined && this.closing === undefined;
  }

  /** Ends the load and makes `measure` reject. */
  fail(error: unknown): void {
    this.failure ??= error;
  }

  /**
   * Counts an answered call. Its latency counts if the call was due within the window.
   * @param call.dueMs planned start by `performance.now()`
   */
  answered({ dueMs, records }: { readonly dueMs: number; readonly records: number }): void {
    if (this.opening === undefined) return;
    if (this.closing === undefined) this.records += records;
    const isDueInside = dueMs >= this.opening.atMs && dueMs < (this.closing?.atMs ?? Number.POSITIVE_INFINITY);
    if (isDueInside) this.latenciesMs.push(performance.now() - dueMs);
  }

  /** Usage by group, and of this process if it is in no group. */
  private read() {
    const { user, system } = process.cpuUsage();
    const isMeasuredItself = Object.values(this.groups).some((pids) => pids.includes(process.pid));
    const usage = Object.entries(readUsage(this.groups));
    return {
      cpuMs: Object.fromEntries(usage.map(([name, { cpuMs }]) => [name, cpuMs])),
      rssMb: Object.fromEntries(usage.map(([name, { rssMb }]) => [name, rssMb])),
      busyMs: machineBusyMs(),
      ownCpuMs: isMeasuredItself ? 0 : (user + system) / 1000,
      atMs: performance.now(),
    };
  }

  private report(): LoadReport {
    const { opening, closing, records, latenciesMs, samples } = this;
    if (opening === undefined || closing === undefined) throw new Error('the load ended before its window');
    if (latenciesMs.length === 0 || records === 0)
      throw new Error('no call was answered within the window: the machine is too slow for its length');
    const usedMs = Object.entries(closing.cpuMs).map(([name, ms]) => [name, ms - (opening.cpuMs[name] ?? 0)] as const);
    const generatorCpuMs = closing.ownCpuMs - opening.ownCpuMs;
    const ownMs = usedMs.reduce((sum, [, ms]) => sum + ms, generatorCpuMs);
    const elapsedMs = closing.atMs - opening.atMs;
    latenciesMs.sort((a, b) => a - b);
    return {
      figures: {
        records_per_s: (1000 * records) / elapsedMs,
        p50_ms: percentile(latenciesMs, 50),
        p95_ms: percentile(latenciesMs, 95),
        p99_ms: percentile(latenciesMs, 99),
        cpu_ms_per_1000: byPart(Object.fromEntries(usedMs.map(([name, ms]) => [name, (1000 * ms) / records]))),
        rss_mb: byPart(closing.rssMb),
      },
      cpuMs: Object.fromEntries(usedMs),
      ...{ elapsedMs, records, calls: latenciesMs.length, generatorCpuMs, samples },
      othersCpuMs: Math.max(0, closing.busyMs - opening.busyMs - ownMs),
    };
  }
}
