import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { workerEnvironment } from '../../shared/config/config.js';
import type { CrashNote } from './crash-note.js';

export interface ExitStatus {
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
   * @param crashNote where it notes what it has in hand
   */
  constructor(
    program: URL,
    readonly crashNote: CrashNote,
  ) {
    this.process = fork(program, {
      env: workerEnvironment(),
      stdio: ['ignore', 'inherit', 'inherit', 'ipc', crashNote.descriptor],
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
  isOwnDeath({ code, signal }: ExitStatus): boolean {
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

/** What a child tells its pool, over the process channel. */
export interface ChildMessage {
  /** `ready`: it takes jobs. `alive`: its event loop turns. `worn`: it is alive and wants to be replaced. */
  readonly kind: 'ready' | 'alive' | 'worn';
  /** Cells of records that could not be read since the message before. */
  readonly unreadable: number;
}

/** How often a child says that its event loop turns. */
export const aliveIntervalMs = 500;

/** Whether something that came over the channel is a message of a child. */
export function isChildMessage(message: unknown): message is ChildMessage {
  if (typeof message !== 'object' || message === null || !('kind' in message)) return false;
  if (!('unreadable' in message) || typeof message.unreadable !== 'number') return false;
  return message.kind === 'ready' || message.kind === 'alive' || message.kind === 'worn';
}

/** Of the clock that Linux counts processes' time in: 100 a second on every machine that Node runs on. */
const tickMs = 10;

/** User and system time that a process has used, in ms; undefined where the system does not tell, or it has gone. */
export function cpuTimeMs(pid: number | undefined): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // Fields 14 and 15 of proc(5); the name, which is the second, may hold spaces.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return tickMs * (Number(fields[11]) + Number(fields[12]));
  } catch {
    return undefined;
  }
}
