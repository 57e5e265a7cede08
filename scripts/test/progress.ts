import type { WriteStream } from 'node:tty';
import type { GroupProcess } from './group-process.js';
import { totalsOf, totalsText } from './report.js';

const terminalEveryMs = 1_000;
const lineEveryMs = 30_000; // some logs end a job that prints nothing for minutes

/** Shows how far each Mocha process is: in a terminal as one changing line, elsewhere as a line every 30 s. */
export class Progress {
  private readonly beganMs = performance.now();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly processes: readonly GroupProcess[],
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
    const parts = this.processes.map(
      (group) => `${group.name} ${totalsText(totalsOf([group]))}${group.isRunning ? '' : ' (done)'}`,
    );
    const line = `${clock}  ${parts.join('; ')}`;
    this.clear();
    this.stream.write(this.stream.isTTY ? line.slice(0, (this.stream.columns ?? 80) - 1) : `${line}\n`);
  }
}
