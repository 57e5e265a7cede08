import { type GroupUsage, machineBusyMs, type ProcessGroups, readUsage } from '../../servers/process-usage.js';
import { percentile } from '../report/percentile.js';
import type { LoadPlan, LoadReport, SampledCall } from './messages.js';

interface Reading {
  readonly atMs: number;
  readonly usage: Readonly<Record<string, GroupUsage>>;
  /** CPU time of this process; 0 if it is one of the measured groups. */
  readonly ownCpuMs: number;
  readonly busyMs: number;
}

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
  async measure(plan: Pick<LoadPlan, 'warmUpMs' | 'windowMs'>, load: Promise<void>): Promise<LoadReport> {
    const opens = setTimeout(() => {
      this.opening = this.read();
    }, plan.warmUpMs);
    const closes = setTimeout(() => {
      this.closing = this.read();
    }, plan.warmUpMs + plan.windowMs);
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

  private read(): Reading {
    const { user, system } = process.cpuUsage();
    const isMeasuredItself = Object.values(this.groups).some((pids) => pids.includes(process.pid));
    return {
      usage: readUsage(this.groups),
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
    const cpuMs: Record<string, number> = {};
    const rssMb: Record<string, number> = {};
    for (const [name, usage] of Object.entries(closing.usage)) {
      cpuMs[name] = usage.cpuMs - (opening.usage[name]?.cpuMs ?? 0);
      rssMb[name] = usage.rssMb;
    }
    const generatorCpuMs = closing.ownCpuMs - opening.ownCpuMs;
    const ownMs = Object.values(cpuMs).reduce((sum, each) => sum + each, generatorCpuMs);
    latenciesMs.sort((a, b) => a - b);
    const latency = (percent: number) => percentile(latenciesMs, percent);
    return {
      elapsedMs: closing.atMs - opening.atMs,
      records,
      calls: latenciesMs.length,
      latencyMs: { p50: latency(50), p95: latency(95), p99: latency(99) },
      cpuMs,
      rssMb,
      generatorCpuMs,
      samples,
      othersCpuMs: Math.max(0, closing.busyMs - opening.busyMs - ownMs),
    };
  }
}
