import { existsSync, readFileSync } from 'node:fs';
import type { Logger } from '../../shared/process/logger.js';
import type { PoolChild } from './pool-child.js';

export interface HangDetectorOptions {
  /** The living processes. */
  readonly children: Iterable<PoolChild>;
  readonly checkIntervalMs: number;
  readonly hangLimitMs: number;
  readonly logger: Logger;
}

/** A longer gap between two checks means that the pool process itself was held up; a busy machine delays one by less. */
const maxIntervalsBetweenChecks = 4;

/** Kills each worker process whose event loop has sent no heartbeat for the hang limit. */
export class HangDetector {
  private timer: NodeJS.Timeout | undefined;
  private lastCheckMs = 0;

  constructor(private readonly options: HangDetectorOptions) {}

  start(): void {
    this.timer = setInterval(() => this.check(), this.options.checkIntervalMs);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private check(): void {
    const { children, checkIntervalMs, hangLimitMs, logger } = this.options;
    const nowMs = performance.now();
    const wasHeldUp = nowMs - this.lastCheckMs > maxIntervalsBetweenChecks * checkIntervalMs;
    this.lastCheckMs = nowMs;
    for (const child of children) {
      // Heartbeats that arrived while the pool was held up are read after this check.
      if (wasHeldUp) child.lastHeartbeatMs = nowMs;
      if (!child.isReady || child.wasKilled || nowMs - child.lastHeartbeatMs < hangLimitMs) continue;
      child.wasKilled = true;
      child.isHung = !isStopped(child.pid);
      const { pid, isHung } = child;
      logger.error({ pid, isHung, hangLimitMs, inHand: child.crashNote.read() }, 'a silent worker is killed');
      child.process.kill('SIGKILL');
    }
  }
}

/** Whether a process is in state T of proc(5), after a SIGSTOP: its chunk is not to blame. False outside Linux. */
function isStopped(pid: number | undefined): boolean {
  const path = `/proc/${pid}/stat`; // exists until the pool has read the exit status
  return existsSync(path) && readFileSync(path, 'latin1').includes(') T ');
}
