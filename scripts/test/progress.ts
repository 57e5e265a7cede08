import type { WriteStream } from 'node:tty';
import type { GroupProcess } from './group-process.js';
import { totalsOf, totalsText } from './report.js';

const terminalEveryMs = 1_000;
const lineEveryMs = 30_000; // some logs end a job that prints nothing for minutes

/** Shows how far the Mocha processes are: in a terminal as one changing line, elsewhere as a line every 30 s. */
export class Progress {
  private readonly beganMs = performance.now();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly processes: readonly GroupProcess[],
    private readonly groups: number,
    private readonly stream: Pick<WriteStream, 'write'> & {
      readonly isTTY?: boolean;
      readonly columns?: number;
    },
  ) {}

  start(): void {
    const everyMs = this.stream.isTTY ? terminalEveryMs : lineEveryMs;
    this.timer = setInterval(() => this.show(), everyMs);
  }

  /** Prints a line of its own. */
  say(line: string): void {
    this.clear();
    this.stream.write(`${line}\n`);
  }

  /** Removes the changing line of a terminal. */
  clear(): void {
    if (this.stream.isTTY) this.stream.write('\r\u001b[2K');
  }

  stop(): void {
    clearInterval(this.timer);
    this.clear();
  }

  private show(): void {
    const seconds = Math.round((performance.now() - this.beganMs) / 1_000);
    const clock = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
    const running = this.processes.filter(({ isRunning }) => isRunning);
    const ended = `${this.processes.length - running.length} of ${this.groups} groups`;
    const line = `${clock}  ${totalsText(totalsOf(this.processes))}; ${ended}; ${running.map(({ name }) => name).join(', ')}`;
    this.clear();
    this.stream.write(this.stream.isTTY ? line.slice(0, (this.stream.columns ?? 80) - 1) : `${line}\n`);
  }
}
