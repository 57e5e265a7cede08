import type { Logger } from '../../shared/process/logger.js';
import { type PoolChild, type ProcessStat, processStat } from './pool-child.js';

export interface HangDetectorOptions {
  /** The living processes. */
  readonly children: Iterable<PoolChild>;
  /** Between two checks at least. */
  readonly checkIntervalMs: number;
  readonly hangLimitMs: number;
  readonly logger: Logger;
}

/** A check that comes later by more means that the pool itself was held up; a busy machine delays one by less. */
const maxIntervalsLate = 3;

/**
 * On a busy machine a process of low priority is silent while it waits for the processor. It hangs if it has computed
 * for this share of the hang limit since its last heartbeat.
 */
const minComputedShare = 0.5;
/** A silent process of low priority that does not compute is killed after this many hang limits. */
const maxSilentLimits = 6;

/**
 * Kills each worker process whose event loop has sent no heartbeat for the hang limit. It checks when the earliest of
 * the last heartbeats is that old, so a pool of healthy processes rarely wakes.
 */
export class HangDetector {
  private timer: NodeJS.Timeout | undefined;
  private dueMs = 0;

  constructor(private readonly options: HangDetectorOptions) {}

  start(): void {
    this.checkIn(this.options.hangLimitMs);
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private checkIn(delayMs: number): void {
    this.dueMs = performance.now() + delayMs;
    this.timer = setTimeout(() => this.check(), delayMs);
  }

  private check(): void {
    const { children, checkIntervalMs, hangLimitMs, logger } = this.options;
    const nowMs = performance.now();
    const wasHeldUp = nowMs - this.dueMs > maxIntervalsLate * checkIntervalMs;
    let earliestMs = nowMs;
    for (const child of children) {
      // Heartbeats that arrived while the pool was held up are read after this check.
      if (wasHeldUp) child.noteHeartbeat();
      const silentMs = nowMs - child.lastHeartbeatMs;
      if (!child.isReady || child.wasKilled) continue;
      earliestMs = Math.min(earliestMs, child.lastHeartbeatMs);
      if (silentMs < hangLimitMs) continue;
      const stat = processStat(child.pid);
      const isStopped = stat?.isStopped === true;
      if (!isStopped && mayWait(child, stat, hangLimitMs) && silentMs < maxSilentLimits * hangLimitMs) continue;
      child.wasKilled = true;
      child.isHung = !isStopped; // after a SIGSTOP its chunk is not to blame
      const { pid, isHung } = child;
      logger.error({ pid, isHung, hangLimitMs, inHand: child.crashNote.read() }, 'a silent worker is killed');
      child.process.kill('SIGKILL');
    }
    this.checkIn(Math.max(checkIntervalMs, earliestMs + hangLimitMs - nowMs));
  }
}

/** Whether a silent process may only wait for the processor: it has a low priority and has not computed. */
function mayWait({ lane, cpuMsAtHeartbeat }: PoolChild, stat: ProcessStat | undefined, hangLimitMs: number): boolean {
  if (lane === 'singles') return false;
  if (stat === undefined || cpuMsAtHeartbeat === undefined) return lane === 'bulk';
  return stat.cpuMs - cpuMsAtHeartbeat < minComputedShare * hangLimitMs;
}
