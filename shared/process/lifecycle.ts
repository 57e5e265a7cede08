import { closeSync, openSync, writeSync } from 'node:fs';
import type { Logger } from './logger.js';

/** Something that was started and must be stopped. */
export interface Stoppable {
  readonly name: string;
  stop(): Promise<void>;
}

/**
 * Holds what a process has started, and stops it in reverse order, once.
 * On SIGTERM, SIGINT or SIGHUP it stops everything and ends the process with 0; the same signal again, or `hardLimitMs`,
 * ends it with 1. (A terminal's Ctrl-C reaches parent and children; the parent's SIGTERM that follows is not a second one.)
 */
export class Lifecycle {
  private readonly started: Stoppable[] = [];
  private stopping: Promise<void> | undefined;

  constructor(
    private readonly logger: Logger,
    private readonly hardLimitMs = 30_000,
  ) {}

  /** Adds what to stop later; things stop in the reverse order of this. Returns what was added. */
  add<Part extends Stoppable>(part: Part): Part {
    this.started.push(part);
    return part;
  }

  /** As `add`, for a function. */
  onStop(name: string, stop: () => Promise<void>): void {
    this.add({ name, stop });
  }

  /** Whether stopping has begun. */
  get isStopping(): boolean {
    return this.stopping !== undefined;
  }

  /** Stops everything; a part that fails to stop is logged and does not keep the others from stopping. */
  stop(): Promise<void> {
    this.stopping ??= this.stopInReverse();
    return this.stopping;
  }

  /** Listens for SIGTERM, SIGINT, and SIGHUP, which comes when a terminal is closed. */
  listenForSignals(): void {
    const received = new Set<NodeJS.Signals>();
    const end = (signal: NodeJS.Signals) => {
      // Not on SIGHUP alone: a child gets its parent's SIGTERM when the terminal of both is closed.
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

  /** A process that was started by another one of ours stops when that one has gone, however it went. */
  followParent(): void {
    if (process.send !== undefined) process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  }

  private async stopInReverse(): Promise<void> {
    for (const part of this.started.reverse()) {
      try {
        await part.stop();
        this.logger.debug({ part: part.name }, 'stopped');
      } catch (error) {
        this.logger.error({ part: part.name, error }, 'could not be stopped cleanly');
      }
    }
  }
}

/**
 * Puts nothing in the place of a terminal that has been closed: Node crashes at its end over a standard input that is no more.
 * (What is logged there is lost in any case; see logger.ts.)
 */
function leaveClosedTerminal(): void {
  for (const descriptor of [0, 1, 2]) {
    try {
      writeSync(descriptor, '');
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EIO')) continue;
      closeSync(descriptor);
      // What is opened gets the lowest descriptor that is free.
      openSync('/dev/null', 'r+');
    }
  }
}
