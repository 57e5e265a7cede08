import { closeSync, openSync, writeSync } from 'node:fs';
import { ConfigError } from '../config/config.js';
import { createLogger, type Logger } from './logger.js';

/**
 * Reads the settings of a main process. On a ConfigError, logs one line and ends the process with 1.
 * @param name the process's name in its log
 */
export function readSettings<Settings>(name: string, read: () => Settings): Settings {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    createLogger('info', name).fatal(`could not start: ${error.message}`);
    return process.exit(1);
  }
}

/** A part of the process that must be stopped before its end. */
export interface Stoppable {
  readonly name: string;
  stop(): Promise<void>;
}

/**
 * Stops the parts of a process once, in the reverse order of their start. SIGTERM, SIGINT and SIGHUP stop all parts and
 * end the process with 0. The same signal again ends it at once with 1, and so does `hardLimitMs`. A different signal
 * does not: Ctrl-C in a terminal reaches parent and child, and the parent then sends SIGTERM as well.
 */
export class Lifecycle {
  private readonly started: Stoppable[] = [];
  private stopping: Promise<void> | undefined;

  constructor(
    private readonly logger: Logger,
    private readonly hardLimitMs = 30_000,
  ) {}

  /** Adds a part to stop later, and returns it. */
  add<Part extends Stoppable>(part: Part): Part {
    this.started.push(part);
    return part;
  }

  /** Adds a function to run at the stop. */
  onStop(name: string, stop: () => Promise<void>): void {
    this.add({ name, stop });
  }

  /** Whether stopping has begun. */
  get isStopping(): boolean {
    return this.stopping !== undefined;
  }

  /** Stops all parts. The failure of one is logged and does not keep the others from stopping. */
  stop(): Promise<void> {
    this.stopping ??= this.stopInReverse();
    return this.stopping;
  }

  /** Listens for SIGTERM, SIGINT, and SIGHUP, which the kernel sends when the terminal is closed. */
  listenForSignals(): void {
    const received = new Set<NodeJS.Signals>();
    const end = (signal: NodeJS.Signals) => {
      // On every signal, not only SIGHUP: a child gets its parent's SIGTERM when their terminal is closed.
      leaveClosedTerminal();
      if (received.has(signal)) process.exit(1);
      received.add(signal);
      if (this.stopping !== undefined) return;
      this.logger.info({ signal }, 'stopping');
      setTimeout(() => {
        this.logger.error({ hardLimitMs: this.hardLimitMs }, 'did not stop in time');
        process.exit(1);
      }, this.hardLimitMs).unref();
      void this.stop().then(() => process.exit(0));
    };
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end);
  }

  /** Stops this process when the parent that forked it ends, even by SIGKILL. */
  followParent(): void {
    if (process.send !== undefined) process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  }

  private async stopInReverse(): Promise<void> {
    for (const part of this.started.reverse()) {
      try {
        await part.stop();
        this.logger.debug({ part: part.name }, 'stopped');
      } catch (error) {
        this.logger.error({ part: part.name, error }, 'part could not be stopped');
      }
    }
  }
}

/**
 * Replaces a closed terminal by /dev/null. Otherwise Node crashes at exit when it resets standard input. Log lines to a
 * closed terminal are lost in any case; see logger.ts.
 */
function leaveClosedTerminal(): void {
  for (const descriptor of [0, 1, 2]) {
    try {
      writeSync(descriptor, '');
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EIO')) continue;
      closeSync(descriptor);
      // A new file gets the lowest free descriptor: the one just closed.
      openSync('/dev/null', 'r+');
    }
  }
}
