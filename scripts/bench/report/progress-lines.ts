import type { WriteStream } from 'node:tty';
import { readableDuration } from '../../cli/output/readable-numbers.js';
import type { LoadReport } from '../load/messages.js';
import { type BenchProgress, cpuMsPer1000, loadText, type RowLabel, recordsPerS } from './rows.js';
import { wholeNumber } from './tables.js';

type Output = Pick<WriteStream, 'write'> & Partial<Pick<WriteStream, 'isTTY'>>;

const clearLine = '\r\x1b[2K';

/** Prints one line per window. A terminal also shows the current step and an estimate of the remaining time. */
export class ProgressLines implements BenchProgress {
  private done = 0;
  private startedMs = performance.now();

  constructor(
    private readonly output: Output,
    private readonly windows: number,
  ) {}

  doing(what: string): void {
    if (this.output.isTTY === true) this.output.write(`${clearLine}${what} …${this.timeLeft()}`);
    else if (this.done === 0) this.output.write(`${what}\n`);
  }

  measured(label: RowLabel, report: LoadReport): void {
    if (this.done === 0) this.startedMs = performance.now() - report.elapsedMs;
    this.done += 1;
    const cells = [
      `[${String(this.done).padStart(2)}/${this.windows}]`,
      label.name.padEnd(16),
      loadText(label).padStart(6),
      `${wholeNumber(recordsPerS(report)).padStart(8)} records/s`,
      `p99 ${report.latencyMs.p99.toFixed(1).padStart(6)} ms`,
      `${cpuMsPer1000(report).total.toFixed(1).padStart(6)} CPU-ms/1000`,
    ];
    this.output.write(`${this.output.isTTY === true ? clearLine : ''}${cells.join('  ')}\n`);
  }

  private timeLeft(): string {
    if (this.done === 0) return '';
    const perWindowMs = (performance.now() - this.startedMs) / this.done;
    return ` ${readableDuration(perWindowMs * (this.windows - this.done))} left`;
  }
}
