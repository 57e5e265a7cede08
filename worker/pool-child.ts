import { type ChildProcess, fork } from 'node:child_process';
import { workerEnvironment } from '../shared/config.js';
import type { InHandNote } from './in-hand.js';

export interface HowItEnded {
  readonly code: number | null;
  readonly signal: string | null;
}

const crashSignals: ReadonlySet<string> = new Set([
  'SIGSEGV',
  'SIGABRT',
  'SIGBUS',
  'SIGILL',
  'SIGFPE',
  'SIGTRAP',
]);

const quietStopMs = 20_000;

/** One worker process, as its pool sees it. Times are of `performance.now()`: a clock that is set moves none of them. */
export class PoolChild {
  readonly process: ChildProcess;
  readonly startedMs = performance.now();
  lastAliveMs = this.startedMs;
  /** CPU time that it had used when it was first seen to be silent. */
  cpuMsBefore: number | undefined;
  isReady = false;
  isLeaving = false;
  isStuck = false;
  /** Set while it is silent and another one has taken its place: what it has in hand, if anything. */
  silence: { readonly modelKey: string | undefined } | undefined;

  /**
   * Starts the process.
   * @param program what it runs
   * @param inHand where it notes what it has in hand
   */
  constructor(
    program: URL,
    readonly inHand: InHandNote,
  ) {
    this.process = fork(program, {
      env: workerEnvironment(),
      stdio: ['ignore', 'inherit', 'inherit', 'ipc', inHand.descriptor],
    });
  }

  get pid(): number | undefined {
    return this.process.pid;
  }

  /** Asks it to finish what it has in hand and to end; once. */
  askToLeave(): void {
    if (this.isLeaving) return;
    this.isLeaving = true;
    this.process.kill('SIGTERM');
  }

  /** Whether it crashed or was stuck, and was not ended from outside. */
  isOwnDeath({ code, signal }: HowItEnded): boolean {
    return this.isStuck || (code !== null && code !== 0) || (signal !== null && crashSignals.has(signal));
  }

  /** Stops it: quietly first, by force after 20 s. Resolves when it has ended. */
  async stop(): Promise<void> {
    const { process } = this;
    if (process.exitCode !== null || process.signalCode !== null) return;
    await new Promise<void>((resolve) => {
      const force = setTimeout(() => process.kill('SIGKILL'), quietStopMs);
      process.once('exit', () => {
        clearTimeout(force);
        resolve();
      });
      process.kill('SIGTERM');
    });
  }
}
