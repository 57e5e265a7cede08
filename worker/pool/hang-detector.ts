import { constants, setPriority } from 'node:os';
import type { Logger } from '../../shared/process/logger.js';
import { cpuTimeMs, type PoolChild } from './pool-child.js';

export interface HangDetectorOptions {
  /** The processes that live. */
  readonly children: Iterable<PoolChild>;
  /** Starts another process beside one that has fallen silent. */
  readonly startReplacement: () => void;
  /** Told when a process is busy with a version for so long that it may be stuck, and when it has come back from it. */
  readonly onSuspension: (modelKey: string, isSuspended: boolean) => void;
  readonly logger: Logger;
}

const watchIntervalMs = 1_000;
/** A child whose event loop has not turned for this long gets a stand-in, so that others do not wait for what it does. */
const silentMs = 3_000;
/** A child whose event loop has not turned for this long is killed. */
const stuckMs = 8_000;
/** CPU time that a silent child uses if it runs in circles, also on a machine that has little to give. */
const busyMs = 50;

/** Looks once a second at which worker processes have fallen silent: one gets a stand-in at first, and is killed later. */
export class HangDetector {
  private watcher: NodeJS.Timeout | undefined;
  private lastWatchMs = 0;

  constructor(private readonly options: HangDetectorOptions) {}

  start(): void {
    this.watcher = setInterval(() => this.look(), watchIntervalMs);
  }

  stop(): void {
    clearInterval(this.watcher);
  }

  /** A child has said something. One that was given a stand-in has come back, and is asked to leave. */
  hear(child: PoolChild): void {
    child.lastAliveMs = performance.now();
    child.cpuMsBefore = undefined;
    if (child.silence === undefined) return;
    const { modelKey } = child.silence;
    if (modelKey !== undefined) this.options.onSuspension(modelKey, false);
    child.silence = { modelKey: undefined };
    child.askToLeave();
  }

  private look(): void {
    const nowMs = performance.now();
    const wasHeldUp = nowMs - this.lastWatchMs > 2 * watchIntervalMs;
    this.lastWatchMs = nowMs;
    const { children, logger } = this.options;
    for (const child of [...children]) {
      // What the children said while this process was held up itself is read after this.
      if (wasHeldUp) child.lastAliveMs = nowMs;
      const forMs = nowMs - child.lastAliveMs;
      if (!child.isReady || forMs < watchIntervalMs) continue;
      child.cpuMsBefore ??= cpuTimeMs(child.pid);
      if (forMs < silentMs) continue;
      if (forMs >= stuckMs) {
        logger.error({ pid: child.pid, stuckMs }, 'a worker is stuck and is killed');
        child.isStuck = true;
        child.process.kill('SIGKILL');
      } else if (child.silence === undefined) this.standIn(child);
    }
  }

  private standIn(child: PoolChild): void {
    const { logger, onSuspension, startReplacement } = this.options;
    const { pid } = child;
    // One that was stopped, or is not given any time, has nothing to do with what it has in hand.
    const isBusy = (cpuTimeMs(pid) ?? 0) - (child.cpuMsBefore ?? 0) >= busyMs;
    const modelKey = isBusy ? child.crashNote.read() : undefined;
    logger.warn({ pid, model: modelKey }, 'a worker is silent and gets a stand-in');
    child.silence = { modelKey };
    if (modelKey !== undefined) onSuspension(modelKey, true);
    makeWay(pid);
    startReplacement();
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
