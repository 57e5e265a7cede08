import { type ChildProcess, fork } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { workerEnvironment } from '../shared/config.js';
import type { Logger } from '../shared/logger.js';
import { cpuTimeMs } from './cpu-time.js';
import { InHandNote } from './in-hand.js';
import { isChildMessage } from './pool-messages.js';

export interface PoolOptions {
  readonly workers: number;
  readonly logger: Logger;
  /** Told when a process died while it ran a version of a model (`<model>:<version>`). */
  readonly onDeathOf: (modelKey: string) => void;
  /** Told when a process is busy with a version for so long that it may be stuck, and when it has come back from it. */
  readonly onSuspicion: (modelKey: string, isSuspect: boolean) => void;
  /** A child whose event loop has not turned for this long is killed. */
  readonly stuckMs?: number;
}

interface Child {
  readonly process: ChildProcess;
  readonly inHand: InHandNote;
  readonly startedMs: number;
  lastAliveMs: number;
  /** CPU time that it had used when it was first seen to be silent. */
  cpuMsBefore: number | undefined;
  isReady: boolean;
  isLeaving: boolean;
  isStuck: boolean;
  /** Set while it is silent and another one has taken its place: what it has in hand, if anything. */
  silence: { readonly modelKey: string | undefined } | undefined;
}

interface HowItEnded {
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

const firstReplacementDelayMs = 50;
const longestReplacementDelayMs = 1_000;
/** A child that lived this long was healthy: its replacement starts without delay. */
const healthyMs = 10_000;
const watchIntervalMs = 1_000;
/** A child whose event loop has not turned for this long gets a stand-in, so that others do not wait for what it does. */
const silentMs = 3_000;
/** CPU time that a silent child uses if it runs in circles, also on a machine that has little to give. */
const busyMs = 50;
const quietStopMs = 20_000;

/**
 * 1. Runs a number of worker processes.
 * 2. Replaces one that has died, within a second.
 * 3. Starts another one in the place of one that has fallen silent; should that come back, it is asked to leave.
 * 4. Kills one that is stuck, which then has died; says which model a dead one was running.
 * 5. Stops them: quietly first (each finishes what it has in hand), by force after 20 s.
 */
export class WorkerPool {
  readonly name = 'worker pool';
  private readonly children = new Map<number, Child>();
  private readonly whenReady: (() => void)[] = [];
  private watcher: NodeJS.Timeout | undefined;
  private isStopping = false;
  private quickDeaths = 0;
  private deaths = 0;
  private unreadable = 0;
  private lastWatchMs = 0;

  constructor(private readonly options: PoolOptions) {}

  /** Starts the processes; resolves when all of them take jobs. */
  async start(): Promise<void> {
    for (let slot = 0; slot < this.options.workers; slot += 1) this.spawn(slot);
    this.watcher = setInterval(() => this.watch(), watchIntervalMs);
    await new Promise<void>((resolve) => {
      this.whenReady.push(resolve);
    });
  }

  /** Process ids of the children that live. */
  get processIds(): number[] {
    return [...this.children.values()].flatMap((child) => child.process.pid ?? []);
  }

  /** Children that have ended and were replaced. */
  get deathCount(): number {
    return this.deaths;
  }

  /** Cells of records that could not be read, as the children have said. */
  get unreadableCount(): number {
    return this.unreadable;
  }

  /** Children that take jobs. */
  get readyCount(): number {
    return [...this.children.values()].filter((child) => child.isReady).length;
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    clearInterval(this.watcher);
    await Promise.all([...this.children.values()].map(stopChild));
  }

  private spawn(slot: number): void {
    if (this.isStopping) return;
    const inHand = this.newNote(slot);
    if (inHand === undefined) return;
    const process = fork(fileURLToPath(new URL('./child.js', import.meta.url)), {
      env: workerEnvironment(),
      stdio: ['ignore', 'inherit', 'inherit', 'ipc', inHand.descriptor],
    });
    const now = Date.now();
    const child: Child = {
      process,
      inHand,
      startedMs: now,
      lastAliveMs: now,
      cpuMsBefore: undefined,
      isReady: false,
      isLeaving: false,
      isStuck: false,
      silence: undefined,
    };
    this.children.set(slot, child);
    process.on('message', (message) => this.hear(child, message));
    process.on('error', (error) => {
      this.options.logger.error({ slot, error }, 'worker process error');
      // One that could not be started does not end either.
      if (process.pid === undefined) this.replace(slot, child, { code: null, signal: null });
    });
    process.on('exit', (code, signal) => this.replace(slot, child, { code, signal }));
  }

  /** A note for the next worker of a slot; where there is no place for one, that worker starts later. */
  private newNote(slot: number): InHandNote | undefined {
    try {
      return new InHandNote();
    } catch (error) {
      this.options.logger.error(
        { slot, error },
        'a worker cannot start: there is no place in TMPDIR for its note',
      );
      setTimeout(() => this.spawn(slot), longestReplacementDelayMs);
      return undefined;
    }
  }

  private hear(child: Child, message: unknown): void {
    if (!isChildMessage(message)) return;
    this.unreadable += message.unreadable;
    child.lastAliveMs = Date.now();
    child.cpuMsBefore = undefined;
    this.acquit(child);
    if ((message.kind === 'worn' || child.silence !== undefined) && !child.isLeaving) {
      child.isLeaving = true;
      child.process.kill('SIGTERM');
    }
    if (message.kind !== 'ready') return;
    child.isReady = true;
    if (this.readyCount >= this.options.workers) for (const resolve of this.whenReady.splice(0)) resolve();
  }

  private replace(slot: number, child: Child, how: HowItEnded): void {
    this.children.delete(slot);
    const modelKey = child.inHand.read();
    child.inHand.close();
    if (this.isStopping) return;
    const { logger, onDeathOf } = this.options;
    const { pid } = child.process;
    if (child.silence !== undefined && how.code === 0) {
      logger.warn({ slot, pid }, 'a worker that had been silent has left');
      return;
    }
    this.deaths += 1;
    if (modelKey !== undefined && isOwnDeath(child, how)) onDeathOf(modelKey);
    this.quickDeaths = Date.now() - child.startedMs < healthyMs ? this.quickDeaths + 1 : 0;
    const delayMs = Math.min(firstReplacementDelayMs * 2 ** this.quickDeaths, longestReplacementDelayMs);
    logger.error({ slot, pid, ...how, delayMs }, 'a worker died and is replaced');
    // One that had fallen silent has been replaced already.
    if (child.silence === undefined) setTimeout(() => this.spawn(slot), delayMs);
  }

  private watch(): void {
    const now = Date.now();
    const wasHeldUp = now - this.lastWatchMs > 2 * watchIntervalMs;
    this.lastWatchMs = now;
    const { stuckMs = 8_000, logger } = this.options;
    for (const [slot, child] of [...this.children]) {
      // What the children said while this process was held up itself is read after this.
      if (wasHeldUp) child.lastAliveMs = now;
      const forMs = now - child.lastAliveMs;
      if (!child.isReady || forMs < watchIntervalMs) continue;
      child.cpuMsBefore ??= cpuTimeMs(child.process.pid);
      if (forMs < silentMs) continue;
      if (forMs >= stuckMs) {
        logger.error({ slot, pid: child.process.pid, stuckMs }, 'a worker is stuck and is killed');
        child.isStuck = true;
        child.process.kill('SIGKILL');
      } else if (child.silence === undefined) this.standIn(slot, child);
    }
  }

  private standIn(slot: number, child: Child): void {
    const { logger, onSuspicion } = this.options;
    const { pid } = child.process;
    // One that was stopped, or is not given any time, has nothing to do with what it has in hand.
    const isBusy = (cpuTimeMs(pid) ?? 0) - (child.cpuMsBefore ?? 0) >= busyMs;
    const modelKey = isBusy ? child.inHand.read() : undefined;
    logger.warn({ slot, pid, model: modelKey }, 'a worker is silent and gets a stand-in');
    child.silence = { modelKey };
    if (modelKey !== undefined) onSuspicion(modelKey, true);
    makeWay(pid);
    let free = 0;
    while (this.children.has(free)) free += 1;
    this.spawn(free);
  }

  /** A child has come back from what it has in hand. */
  private acquit(child: Child): void {
    if (child.silence?.modelKey === undefined) return;
    this.options.onSuspicion(child.silence.modelKey, false);
    child.silence = { modelKey: undefined };
  }
}

/** Leaves the cores to others: a process that runs in circles takes one of them for itself. */
function makeWay(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It has gone meanwhile.
  }
}

/** Whether a process crashed or was stuck, and was not ended from outside. */
const isOwnDeath = (child: Child, { code, signal }: HowItEnded): boolean =>
  child.isStuck || (code !== null && code !== 0) || (signal !== null && crashSignals.has(signal));

async function stopChild({ process }: Child): Promise<void> {
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
