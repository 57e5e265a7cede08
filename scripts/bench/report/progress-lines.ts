import { readableDuration } from '../../cli/output/readable-numbers.js';

const clearLine = '\r\x1b[2K';

/**
 * Prints one line per finished part on standard error. A terminal also shows the current part and the remaining time.
 */
export class ProgressLines {
  private done = 0;
  private startedMs = performance.now();

  /** @param total number of parts */
  constructor(private readonly total: number) {}

  say(line: string): void {
    process.stderr.write(`${line}\n`);
  }

  doing(what: string): void {
    if (!process.stderr.isTTY) return;
    if (this.done === 0) this.startedMs = performance.now();
    const perPartMs = (performance.now() - this.startedMs) / this.done;
    const left = this.done === 0 ? '' : ` ${readableDuration(perPartMs * (this.total - this.done))} left`;
    process.stderr.write(`${clearLine}${what} …${left}`);
  }

  finished(line: string): void {
    this.done += 1;
    const counter = `[${String(this.done).padStart(2)}/${this.total}]`;
    this.say(`${process.stderr.isTTY ? clearLine : ''}${counter}  ${line}`);
  }
}
