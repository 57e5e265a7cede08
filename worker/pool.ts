import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { workerEnvironment } from '../shared/config.js';
import type { Logger } from '../shared/logger.js';
import { inHandFile, takeInHand } from './in-hand.js';
import { isChildMessage } from './pool-messages.js';

export interface PoolOptions {
  readonly workers: number;
  readonly logger: Logger;
  /** Told when a process died while it ran a version of a model (`<model>:<version>`). */
  readonly onDeathOf: (modelKey: string) => void;
  /** A child whose event loop has not turned for this long is killed and replaced. */
  readonly stuckMs?: number;
}

interface Child {
  readonly process: ChildProcess;
  readonly startedMs: number;
  lastAliveMs: number;
  isReady: boolean;
  isLeaving: boolean;
  isStuck: boolean;
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
const quietStopMs = 20_000;

/**
 * 1. Runs a number of worker processes.
 * 2. Replaces one that has died, within a second.
 * 3. Kills one that is stuck, which then has died; says which model a dead one was running.
 * 4. Stops them: quietly first (each finishes what it has in hand), by force after 20 s.
 */
export class WorkerPool {
  readonly name = 'worker pool';
  private readonly children = new Map<number, Child>();
  private readonly whenReady: (() => void)[] = [];
  private watcher: NodeJS.Timeout | undefined;
  private isStopping = false;
  private quickDeaths = 0;
  private deaths = 0;

  constructor(private readonly options: PoolOptions) {}

  /** Starts the processes; resolves when all of them take jobs. */
  async start(): Promise<void> {
    for (let slot = 0; slot < this.options.workers; slot += 1) this.spawn(slot);
    this.watcher = setInterval(() => this.killStuck(), watchIntervalMs);
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
    const process = fork(fileURLToPath(new URL('./child.js', import.meta.url)), [inHandFile(slot)], {
      env: workerEnvironment(),
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const now = Date.now();
    const child: Child = {
      process,
      startedMs: now,
      lastAliveMs: now,
      isReady: false,
      isLeaving: false,
      isStuck: false,
    };
    this.children.set(slot, child);
    process.on('message', (message) => this.hear(child, message));
    process.on('error', (error) => this.options.logger.error({ slot, error }, 'worker process error'));
    process.on('exit', (code, signal) => this.replace(slot, child, { code, signal }));
  }

  private hear(child: Child, message: unknown): void {
    if (!isChildMessage(message)) return;
    child.lastAliveMs = Date.now();
    if (message.kind === 'worn' && !child.isLeaving) {
      child.isLeaving = true;
      child.process.kill('SIGTERM');
    }
    if (message.kind !== 'ready') return;
    child.isReady = true;
    if (this.readyCount === this.options.workers) for (const resolve of this.whenReady.splice(0)) resolve();
  }

  private replace(slot: number, child: Child, how: HowItEnded): void {
    this.children.delete(slot);
    const modelKey = takeInHand(inHandFile(slot));
    if (this.isStopping) return;
    this.deaths += 1;
    if (modelKey !== undefined && isOwnDeath(child, how)) this.options.onDeathOf(modelKey);
    this.quickDeaths = Date.now() - child.startedMs < healthyMs ? this.quickDeaths + 1 : 0;
    const delayMs = Math.min(firstReplacementDelayMs * 2 ** this.quickDeaths, longestReplacementDelayMs);
    this.options.logger.error(
      { slot, pid: child.process.pid, ...how, delayMs },
      'a worker died and is replaced',
    );
    setTimeout(() => this.spawn(slot), delayMs);
  }

  private killStuck(): void {
    const { stuckMs = 8_000, logger } = this.options;
    for (const [slot, child] of this.children) {
      if (!child.isReady || Date.now() - child.lastAliveMs < stuckMs) continue;
      logger.error({ slot, pid: child.process.pid, stuckMs }, 'a worker is stuck and is killed');
      child.isStuck = true;
      child.process.kill('SIGKILL');
    }
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
