import type { Redis } from 'ioredis';
import { Gauge, type Registry } from 'prom-client';
import type { Stoppable } from './lifecycle.js';
import type { Logger } from './logger.js';

const measureEveryMs = 60_000;
/** Until the first measurement succeeds: while a process starts, replies are often too slow to use. */
const firstMeasureEveryMs = 1_000;
/** A slower reply does not say precisely enough when Redis read its clock. */
const maxRoundTripMs = 250;
/** NTP keeps machines within 0.1 s. */
export const maxSkewMs = 2_000;

/**
 * Compares this machine's clock with Redis's, at once and then every minute. Call ids, which order a lead's scores, use
 * the machine's clock; leases and deadlines use Redis's. Logs when the clocks differ by more than 2 s, and when they
 * agree again.
 */
export class ClockWatch implements Stoppable {
  readonly name = 'clock watch';
  private measuredMs: number | undefined;
  private isSkewed = false;
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;

  /** @param now the machine's clock, Unix ms */
  constructor(
    private readonly redis: Pick<Redis, 'time'>,
    private readonly logger: Pick<Logger, 'warn' | 'info'>,
    private readonly now: () => number = Date.now,
  ) {
    void this.measureRepeatedly();
  }

  /**
   * Ms by which this machine's clock was ahead of Redis's when last measured; undefined before the first measurement.
   */
  get aheadMs(): number | undefined {
    return this.measuredMs;
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  /** Compares the clocks now. Without a usable reply from Redis, the last measurement stays. */
  async measure(): Promise<void> {
    const sentMs = performance.now();
    // TIME may be forbidden or time out. RedisHealth reports a Redis that is away.
    const reply = await this.redis.time().catch(() => undefined);
    const roundTripMs = performance.now() - sentMs;
    if (reply === undefined || roundTripMs > maxRoundTripMs) return;
    const [seconds, microseconds] = reply.map(Number);
    const redisMs = (seconds ?? Number.NaN) * 1000 + (microseconds ?? Number.NaN) / 1000;
    this.measuredMs = Math.round(this.now() - roundTripMs / 2 - redisMs);
    this.report(this.measuredMs);
  }

  private async measureRepeatedly(): Promise<void> {
    await this.measure();
    if (this.isStopped) return;
    const delayMs = this.measuredMs === undefined ? firstMeasureEveryMs : measureEveryMs;
    this.timer = setTimeout(() => void this.measureRepeatedly(), delayMs).unref();
  }

  private report(aheadMs: number): void {
    const isSkewed = Math.abs(aheadMs) > maxSkewMs;
    if (isSkewed === this.isSkewed) return;
    this.isSkewed = isSkewed;
    if (isSkewed) {
      const skew = `${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
      this.logger.warn({ aheadMs }, `this machine's clock is ${skew} Redis's: keep both in step, with NTP`);
    } else {
      this.logger.info({ aheadMs }, "this machine's clock is in step with Redis's again");
    }
  }
}

/** Exports the measured difference to Prometheus. */
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
