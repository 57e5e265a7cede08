import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { workerEnvironment } from '../../shared/config/config.js';
import type { Lane } from '../../shared/contract/lanes.js';
import type { CrashNote } from './crash-note.js';
import type { DeathCause } from './quarantine.js';
import type { WorkerCounts } from './worker-counts.js';

export interface ExitStatus {
  readonly code: number | null;
  readonly signal: string | null;
}

/**
 * Limit of V8's semi-space for young objects, MB. With 4 MB, processes for batches took a tenth more CPU time, and
 * those for singles no more. An idle process without a limit keeps some 15 MB more. See docs/performance.md.
 */
const semiSpaceMB: Readonly<Record<Lane, number>> = { singles: 4, batches: 16, bulk: 16 };

const crashSignals = new Set(['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGTRAP']);

interface Placement {
  /** Where the process writes the chunk that it works on. */
  readonly crashNote: CrashNote;
  /** Its second argument. */
  readonly lane: Lane;
  /** The worn process whose place and id it takes. */
  readonly replaces?: PoolChild | undefined;
}

/**
 * One worker process, as its pool sees it. Times are of `performance.now()`, which setting the clock does not change.
 */
export class PoolChild {
  readonly process: ChildProcess;
  /** Names it in the register of workers; its first argument. */
  readonly id: string;
  readonly lane: Lane;
  readonly crashNote: CrashNote;
  /** The worn process that keeps its place until this one is ready. */
  replaces: PoolChild | undefined;
  readonly startedMs = performance.now();
  lastHeartbeatMs = this.startedMs;
  /** Set for a process of low priority, on Linux. */
  cpuMsAtHeartbeat: number | undefined;
  isReady = false;
  isLeaving = false;
  /** Whether the hang detector has killed it; `isHung` if its chunk is to blame. */
  wasKilled = false;
  isHung = false;

  /**
   * Starts the process.
   * @param program its module
   */
  constructor(program: URL, { crashNote, lane, replaces }: Placement) {
    this.id = replaces?.id ?? randomUUID();
    this.lane = lane;
    this.crashNote = crashNote;
    this.replaces = replaces;
    this.process = fork(program, [this.id, lane], {
      env: workerEnvironment(),
      execArgv: [...process.execArgv, `--max-semi-space-size=${semiSpaceMB[lane]}`],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc', crashNote.descriptor],
    });
  }

  get pid(): number | undefined {
    return this.process.pid;
  }

  /** Notes that its event loop runs. */
  noteHeartbeat(): void {
    this.lastHeartbeatMs = performance.now();
    if (this.lane !== 'singles') this.cpuMsAtHeartbeat = processStat(this.pid)?.cpuMs;
  }

  /** Sends SIGTERM, once: the process finishes its chunks and exits. */
  askToLeave(): void {
    if (this.isLeaving) return;
    this.isLeaving = true;
    this.process.kill('SIGTERM');
  }

  /** As `askToLeave`, when a ready process has its id: the entry in the register stays. */
  leaveToSuccessor(): void {
    if (this.isLeaving) return;
    this.isLeaving = true;
    const message: PoolMessage = { kind: 'succeeded' };
    this.process.send(message, (error) => {
      if (error !== null) this.process.kill('SIGTERM');
    });
  }

  /** Whether it has ended because it was asked to leave. A process that is still starting is ended by the signal. */
  hasLeft({ code, signal }: ExitStatus): boolean {
    return this.isLeaving && (code === 0 || signal === 'SIGTERM');
  }

  /** How its chunk ended it; undefined when something outside ended the process. */
  causeOfDeath({ code, signal }: ExitStatus): DeathCause | undefined {
    if (this.isHung) return 'hang';
    const hasCrashed = (code !== null && code !== 0) || (signal !== null && crashSignals.has(signal));
    return hasCrashed ? 'crash' : undefined;
  }

  /** Sends SIGTERM, and SIGKILL after `killAfterMs`. Resolves when the process has exited. */
  async stop(killAfterMs: number): Promise<void> {
    const { process } = this;
    if (process.exitCode !== null || process.signalCode !== null) return;
    await new Promise<void>((resolve) => {
      const force = setTimeout(() => process.kill('SIGKILL'), killAfterMs);
      process.once('exit', () => {
        clearTimeout(force);
        resolve();
      });
      this.askToLeave();
    });
  }
}

/** A message of a pool to a worker process: a successor with its id is ready, so it finishes its chunks and exits. */
export interface PoolMessage {
  readonly kind: 'succeeded';
}

/** A message of a worker process to its pool, over the IPC channel, with its counts since the message before. */
export interface ChildMessage extends WorkerCounts {
  /** `ready`: it takes jobs. `heartbeat`: its event loop runs. `worn`: a heartbeat that asks for a replacement. */
  readonly kind: 'ready' | 'heartbeat' | 'worn';
}

/** A tick of the CPU times in /proc; see proc(5). Linux reports 100 ticks a second on all common machines. */
const tickMs = 10;

/** A process as /proc/<pid>/stat describes it. */
export interface ProcessStat {
  /** Whether it is in state T of proc(5), after a SIGSTOP. */
  readonly isStopped: boolean;
  /** CPU time of all its threads since its start. */
  readonly cpuMs: number;
}

/** Reads a process's state; undefined outside Linux, and once the pool has read its exit status. */
export function processStat(pid: number | undefined): ProcessStat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name of the program, in brackets, may contain spaces and brackets.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { isStopped: fields[0] === 'T', cpuMs: tickMs * (Number(fields[11]) + Number(fields[12])) };
  } catch {
    return undefined;
  }
}
