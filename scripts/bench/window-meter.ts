import type { LoadPlan, LoadReport, SampledCall } from './load-messages.js';
import { percentile } from './percentile.js';
import { type GroupUsage, machineBusyMs, type ProcessGroups, readUsage } from './process-usage.js';

interface Reading {
  readonly atMs: number;
  readonly usage: Readonly<Record<string, GroupUsage>>;
  /** Of this process, when it is not one of those that are measured. */
  readonly ownCpuMs: number;
  readonly busyMs: number;
}

/**
 * Measures one window: lets the load warm up, reads the clock and the CPU time of all processes, lets it run, and reads
 * them again. Both readings are taken by the process that makes the load, between two of its calls, so they belong to
 * exactly the calls that are counted.
 */
export class WindowMeter {
  readonly samples: SampledCall[] = [];
  private readonly latenciesMs: number[] = [];
  private opening: Reading | undefined;
  private closing: Reading | undefined;
  private records = 0;
  private failure: unknown;

  /** @param groups the service's processes */
  constructor(private readonly groups: ProcessGroups) {}

  /** Runs the window around a load; resolves when the load has ended, which it does once `isOver`. */
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

  /** No further call is to be made. */
  get isOver(): boolean {
    return this.closing !== undefined || this.failure !== undefined;
  }

  get isOpen(): boolean {
    return this.opening !== undefined && this.closing === undefined;
  }

  /** Ends the load: what was measured is worth nothing. */
  fail(error: unknown): void {
    this.failure ??= error;
  }

  /** Takes down a call that was answered. `dueMs`: when it was to be sent, by `performance.now()`. */
  answered({ dueMs, records }: { readonly dueMs: number; readonly records: number }): void {
    if (this.opening === undefined) return;
    if (this.closing === undefined) this.records += records;
    const isDueInside =
      dueMs >= this.opening.atMs && dueMs < (this.closing?.atMs ?? Number.POSITIVE_INFINITY);
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
    if (opening === undefined || closing === undefined) throw new Error('the window was not closed');
    if (latenciesMs.length === 0 || records === 0)
      throw new Error('no call was answered within the window: the machine is too slow for its length');
    const cpuMs: Record<string, number> = {};
    const rssMb: Record<string, number> = {};
    for (const [name, { cpuMs: total, rssMb: resident }] of Object.entries(closing.usage)) {
      cpuMs[name] = total - (opening.usage[name]?.cpuMs ?? 0);
      rssMb[name] = resident;
    }
    const generatorCpuMs = closing.ownCpuMs - opening.ownCpuMs;
    const ours = Object.values(cpuMs).reduce((sum, each) => sum + each, generatorCpuMs);
    latenciesMs.sort((a, b) => a - b);
    return {
      elapsedMs: closing.atMs - opening.atMs,
      records,
      calls: latenciesMs.length,
      latencyMs: {
        p50: percentile(latenciesMs, 50),
        p95: percentile(latenciesMs, 95),
        p99: percentile(latenciesMs, 99),
      },
      cpuMs,
      rssMb,
      generatorCpuMs,
      othersCpuMs: Math.max(0, closing.busyMs - opening.busyMs - ours),
      samples,
    };
  }
}
