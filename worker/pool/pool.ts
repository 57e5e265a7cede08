import type { Logger } from '../../shared/process/logger.js';
import { CrashNote } from './crash-note.js';
import { HangDetector } from './hang-detector.js';
import { type ExitStatus, isChildMessage, PoolChild } from './pool-child.js';

export interface PoolOptions {
  readonly workers: number;
  readonly logger: Logger;
  /** Told when a process died while it ran a version of a model (`<model>:<version>`). */
  readonly onDeathOf: (modelKey: string) => void;
  /** Told when a process is busy with a version for so long that it may be stuck, and when it has come back from it. */
  readonly onSuspension: (modelKey: string, isSuspended: boolean) => void;
  /** What each process runs; a test has its own. */
  readonly program?: URL;
}

const firstReplacementDelayMs = 50;
const maxReplacementDelayMs = 1_000;
/** A child that lived this long was healthy: its replacement starts without delay. */
const healthyMs = 10_000;

/**
 * 1. Runs a number of worker processes.
 * 2. Replaces one that has died, within a second, and one that is worn, which is asked to leave.
 * 3. Starts another one beside one that has fallen silent; should that come back, it is asked to leave.
 * 4. Kills one that is stuck, which then has died; says which model a dead one was running.
 * 5. Stops them: quietly first (each finishes what it has in hand), by force after 20 s.
 */
export class WorkerPool {
  readonly name = 'worker pool';
  private readonly children = new Set<PoolChild>();
  private readonly watch: HangDetector;
  private readonly program: URL;
  private readonly whenReady: (() => void)[] = [];
  private isStopping = false;
  private quickDeaths = 0;
  private deaths = 0;
  private unreadable = 0;

  constructor(private readonly options: PoolOptions) {
    this.program = options.program ?? new URL('../child.js', import.meta.url);
    const { logger, onSuspension } = options;
    this.watch = new HangDetector({
      children: this.children,
      startReplacement: () => this.spawn(),
      onSuspension,
      logger,
    });
  }

  /** Starts the processes; resolves when all of them take jobs. */
  async start(): Promise<void> {
    for (let count = 0; count < this.options.workers; count += 1) this.spawn();
    this.watch.start();
    await new Promise<void>((resolve) => {
      this.whenReady.push(resolve);
    });
  }

  /** Children that have died; not those that left because they were asked to. */
  get deathCount(): number {
    return this.deaths;
  }

  /** Cells of records that could not be read, as the children have said. */
  get unreadableCount(): number {
    return this.unreadable;
  }

  /** Children that take jobs. */
  get readyCount(): number {
    return [...this.children].filter((child) => child.isReady).length;
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    this.watch.stop();
    await Promise.all([...this.children].map((child) => child.stop()));
  }

  private spawn(): void {
    if (this.isStopping) return;
    const crashNote = this.newNote();
    if (crashNote !== undefined) this.follow(new PoolChild(this.program, crashNote));
  }

  /** A note for the next worker; where there is no place for one, that worker starts later. */
  private newNote(): CrashNote | undefined {
    try {
      return new CrashNote();
    } catch (error) {
      this.options.logger.error({ error }, 'a worker cannot start: there is no place in TMPDIR for its note');
      setTimeout(() => this.spawn(), maxReplacementDelayMs);
      return undefined;
    }
  }

  private follow(child: PoolChild): void {
    this.children.add(child);
    child.process.on('message', (message) => this.hear(child, message));
    child.process.on('error', (error) => {
      this.options.logger.error({ pid: child.pid, error }, 'worker process error');
      // One that could not be started does not end either.
      if (child.pid === undefined) this.end(child, { code: null, signal: null });
    });
    child.process.on('exit', (code, signal) => this.end(child, { code, signal }));
  }

  private hear(child: PoolChild, message: unknown): void {
    if (!isChildMessage(message)) return;
    this.unreadable += message.unreadable;
    this.watch.hear(child);
    if (message.kind === 'worn') child.askToLeave();
    if (message.kind !== 'ready') return;
    child.isReady = true;
    if (this.readyCount >= this.options.workers) for (const resolve of this.whenReady.splice(0)) resolve();
  }

  private end(child: PoolChild, how: ExitStatus): void {
    if (!this.children.delete(child)) return;
    const modelKey = child.crashNote.read();
    child.crashNote.close();
    if (this.isStopping) return;
    const { logger, onDeathOf } = this.options;
    const { pid } = child;
    if (how.code === 0 && child.silence !== undefined) {
      logger.warn({ pid }, 'a worker that had been silent has left');
      return;
    }
    if (how.code === 0 && child.isLeaving) {
      logger.info({ pid }, 'a worn worker has left and is replaced');
      this.spawn();
      return;
    }
    this.deaths += 1;
    if (modelKey !== undefined && child.isOwnDeath(how)) onDeathOf(modelKey);
    const wasHealthy = performance.now() - child.startedMs >= healthyMs;
    this.quickDeaths = wasHealthy ? 0 : this.quickDeaths + 1;
    const delayMs = Math.min(firstReplacementDelayMs * 2 ** this.quickDeaths, maxReplacementDelayMs);
    logger.error({ pid, ...how, delayMs }, 'a worker died and is replaced');
    // One that had fallen silent has been replaced already.
    if (child.silence === undefined) setTimeout(() => this.spawn(), delayMs);
  }
}
