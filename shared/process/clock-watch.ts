import type { Redis } from 'ioredis';
import { Gauge, type Registry } from 'prom-client';
import type { Stoppable } from './lifecycle.js';
import type { Logger } from './logger.js';

const askEveryMs = 60_000;
/** Until it is known for the first time: a process that starts has no time for answers. */
const askAgainMs = 1_000;
/** An answer that took longer does not tell when Redis read its clock. */
const maxWayMs = 250;
/** Machines whose clocks are kept in step are within a tenth of a second. */
const tolerableMs = 2_000;

/**
 * Compares this machine's clock with Redis's, at once and then every minute: the order of a lead's scores goes by the
 * first, leases and deadlines by the second. It says in the log when they come apart, and when they are in step again.
 */
export class ClockWatch implements Stoppable {
  readonly name = 'clock watch';
  private measuredMs: number | undefined;
  private areApart = false;
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;

  /** @param now the machine's clock, Unix ms; a test has its own */
  constructor(
    private readonly redis: Pick<Redis, 'time'>,
    private readonly logger: Pick<Logger, 'warn' | 'info'>,
    private readonly now: () => number = Date.now,
  ) {
    void this.lookAgainAndAgain();
  }

  /** By how much this machine's clock is ahead of Redis's, when last compared; undefined while that is not known. */
  get aheadMs(): number | undefined {
    return this.measuredMs;
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  /** Compares the clocks now. Where Redis does not say its time, what was measured before holds. */
  async look(): Promise<void> {
    const askedMs = performance.now();
    // It may be forbidden, or too late: whether Redis is there is for others to tell.
    const answer = await this.redis.time().catch(() => undefined);
    const wayMs = performance.now() - askedMs;
    if (answer === undefined || wayMs > maxWayMs) return;
    const [seconds, microseconds] = answer.map(Number);
    const redisMs = (seconds ?? Number.NaN) * 1000 + (microseconds ?? Number.NaN) / 1000;
    this.measuredMs = Math.round(this.now() - wayMs / 2 - redisMs);
    this.tell(this.measuredMs);
  }

  private async lookAgainAndAgain(): Promise<void> {
    await this.look();
    if (this.isStopped) return;
    const restMs = this.measuredMs === undefined ? askAgainMs : askEveryMs;
    this.timer = setTimeout(() => void this.lookAgainAndAgain(), restMs).unref();
  }

  private tell(aheadMs: number): void {
    const areApart = Math.abs(aheadMs) > tolerableMs;
    if (areApart === this.areApart) return;
    this.areApart = areApart;
    if (areApart) {
      const apart = `${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
      this.logger.warn({ aheadMs }, `this machine's clock is ${apart} Redis's: keep both in step, with NTP`);
    } else {
      this.logger.info({ aheadMs }, "this machine's clock is in step with Redis's again");
    }
  }
}

/** What a watch has measured, for Prometheus. */
export function observeClock(registry: Registry, watch: Pick<ClockWatch, 'aheadMs'>): void {
  new Gauge({
    name: 'leadscore_clock_ahead_seconds',
    help: "By how much this machine's clock is ahead of Redis's; negative when it is behind.",
    registers: [registry],
    collect() {
      this.set((watch.aheadMs ?? Number.NaN) / 1000);
    },
  });
}
