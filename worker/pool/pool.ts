import { pathToFileURL } from 'node:url';
import type { Lane } from '../../shared/contract/lanes.js';
import type { Logger } from '../../shared/process/logger.js';
import { projectFile } from '../../shared/process/project-root.js';
import { type ChunkInHand, CrashNote } from './crash-note.js';
import { HangDetector } from './hang-detector.js';
import { type ChildMessage, type ExitStatus, PoolChild } from './pool-child.js';
import type { DeathCause } from './quarantine.js';
import { addCounts, noCounts, type WorkerCounts } from './worker-counts.js';

/** The timings of production. */
export const poolTimings = {
  checkIntervalMs: 250,
  hangLimitMs: 5_000, // a 64 MiB forest, the slowest to load, blocks for 1.4 s; for 3.5 s at load 16 on 2 cores
  minReplacementDelayMs: 50,
  maxReplacementDelayMs: 1_000,
  healthyMs: 10_000, // a process that lived this long is replaced after the minimum delay
  killAfterMs: 20_000, // when the pool stops, each process has this long to finish its chunks
};

export interface PoolOptions {
  /** How many processes it runs at first. */
  readonly workers: number;
  /** The lane that each process serves. */
  readonly lane: Lane;
  readonly timings: Readonly<typeof poolTimings>;
  readonly logger: Logger;
  /** Called when a process crashed or hung while it worked on a chunk. */
  readonly onChunkDeath: (inHand: ChunkInHand, cause: DeathCause) => void;
  /** Called with the id of each process that has ended without a successor. */
  readonly onExit?: (id: string) => void;
  /** The module of each process; by default `worker/child.ts`. */
  readonly program?: URL;
}

/**
 * 1. Runs a number of worker processes, which may change.
 * 2. Kills a process whose event loop is silent for the hang limit.
 * 3. Replaces a process that died, within a second. Replaces a worn one, which leaves when its successor is ready.
 * 4. Reports the chunk that a crashed or hung process worked on.
 * 5. Stops the processes: SIGTERM first, so that each finishes its chunks, then SIGKILL.
 */
export class WorkerPool {
  readonly name = 'worker pool';
  private readonly children = new Set<PoolChild>();
  private readonly hangDetector: HangDetector;
  private readonly program: URL;
  private readonly whenReady: (() => void)[] = [];
  private wanted = 0;
  private isStopping = false;
  private quickDeaths = 0;
  private deaths = 0;
  private counted = noCounts;

  constructor(private readonly options: PoolOptions) {
    const { program, timings, logger } = options;
    this.program = program ?? pathToFileURL(projectFile('dist/worker/child.js'));
    this.hangDetector = new HangDetector({ children: this.children, ...timings, logger });
  }

  /** Starts the processes; resolves when all of them take jobs. */
  async start(): Promise<void> {
    this.resize(this.options.workers);
    this.hangDetector.start();
    if (this.readyCount >= this.wanted) return;
    await new Promise<void>((resolve) => {
      this.whenReady.push(resolve);
    });
  }

  /** Changes the number of processes. Starts those that are missing, and asks those in excess to leave. */
  resize(count: number): void {
    this.wanted = count;
    for (let missing = count - this.staying.length; missing > 0; missing -= 1) this.spawn();
    for (const child of this.staying.slice(count)) {
      child.askToLeave();
      this.successorOf(child)?.askToLeave();
    }
  }

  /** Processes that the pool runs or starts. */
  get wantedCount(): number {
    return this.wanted;
  }

  /** Processes that died; one that left because it was worn does not count. */
  get deathCount(): number {
    return this.deaths;
  }

  /** The sums of the counts that the processes have reported. */
  get counts(): WorkerCounts {
    return this.counted;
  }

  /** Processes that take jobs. */
  get readyCount(): number {
    return [...this.children].filter((child) => child.isReady && !child.isLeaving).length;
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    this.hangDetector.stop();
    await Promise.all([...this.children].map((child) => child.stop(this.options.timings.killAfterMs)));
  }

  /** The processes that were not asked to leave. A starting successor has no place of its own. */
  private get staying(): readonly PoolChild[] {
    return [...this.children].filter((child) => !child.isLeaving && child.replaces === undefined);
  }

  private successorOf(worn: PoolChild): PoolChild | undefined {
    return [...this.children].find(({ replaces }) => replaces === worn);
  }

  /** Starts a process, unless there are enough. */
  private spawn(): void {
    if (!this.isStopping && this.staying.length < this.wanted) this.startProcess();
  }

  /** Starts the successor of a worn process. One at a time: until the worn one has ended, both need memory. */
  private replace(worn: PoolChild): void {
    const isReplacing = [...this.children].some((child) => child.isLeaving || child.replaces !== undefined);
    if (!this.isStopping && !isReplacing) this.startProcess(worn);
  }

  private startProcess(replaces?: PoolChild): void {
    const { logger, timings, lane } = this.options;
    try {
      this.follow(new PoolChild(this.program, { crashNote: new CrashNote(), lane, replaces }));
    } catch (error) {
      logger.error({ error }, 'cannot create crash note in TMPDIR; starting the worker later');
      setTimeout(() => this.spawn(), timings.maxReplacementDelayMs);
    }
  }

  private follow(child: PoolChild): void {
    this.children.add(child);
    child.process.on('message', (message) => this.onMessage(child, message as ChildMessage));
    child.process.on('error', (error) => {
      this.options.logger.error({ pid: child.pid, error }, 'worker process error');
      // A process that could not be started emits no `exit`.
      if (child.pid === undefined) this.onExit(child, { code: null, signal: null });
    });
    child.process.on('exit', (code, signal) => this.onExit(child, { code, signal }));
  }

  private onMessage(child: PoolChild, message: ChildMessage): void {
    this.counted = addCounts(this.counted, message);
    child.noteHeartbeat();
    if (message.kind === 'worn') this.replace(child);
    if (message.kind !== 'ready') return;
    child.isReady = true;
    child.replaces?.leaveToSuccessor();
    child.replaces = undefined;
    if (this.readyCount >= this.wanted) for (const resolve of this.whenReady.splice(0)) resolve();
  }

  private onExit(child: PoolChild, status: ExitStatus): void {
    if (!this.children.delete(child)) return;
    const successor = this.successorOf(child);
    if (successor !== undefined) successor.replaces = undefined;
    const isSucceeded = [...this.children].some((other) => other.isReady && !other.isLeaving && other.id === child.id);
    if (!isSucceeded) this.options.onExit?.(child.id);
    const inHand = child.crashNote.read();
    child.crashNote.close();
    if (this.isStopping) return;
    const { logger, onChunkDeath, timings } = this.options;
    const { pid } = child;
    if (child.hasLeft(status)) {
      logger.info({ pid }, 'a worker has left as asked');
      this.spawn();
      return;
    }
    this.deaths += 1;
    const cause = child.causeOfDeath(status);
    if (inHand !== undefined && cause !== undefined) onChunkDeath(inHand, cause);
    const wasHealthy = performance.now() - child.startedMs >= timings.healthyMs;
    this.quickDeaths = wasHealthy ? 0 : this.quickDeaths + 1;
    const delayMs = Math.min(timings.minReplacementDelayMs * 2 ** this.quickDeaths, timings.maxReplacementDelayMs);
    logger.error({ pid, ...status, delayMs }, 'a worker died and is replaced');
    setTimeout(() => this.spawn(), delayMs);
  }
}
