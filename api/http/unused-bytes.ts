import type { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { FairQueue } from '../../shared/async/fair-queue.js';
import { type Addressed, type CallerAddress, networkOf } from '../auth/client-ip.js';

/** So many take a gateway 0.1 to 0.2 of a processor, as each chunk of 64 KiB is garbage. See docs/security.md. */
export const bytesPerSecond = 32 * 1024 * 1024;
/** Bytes that are read without a pause after a quiet time: two bodies of the largest size. */
export const burstBytes = 16 * 1024 * 1024;
/** Small enough that a sender waits for some milliseconds of each other sender. */
export const turnBytes = 256 * 1024;
const msOf = (bytes: number): number => (1_000 * bytes) / bytesPerSecond;
/** Senders that wait hold up to 72 KiB each in the buffers of Node: `maxUnreadBytes` and one read. */
const maxWaiting = 512;

/**
 * Bounds what it costs to read bytes that nothing uses: bodies of calls that are refused already, and bytes after
 * malformed HTTP. Such bytes must be read, because a client that sends its whole body first would not find its answer
 * on a connection that was closed. A sender pauses between its turns, so TCP slows it down. Networks take turns.
 */
export class UnusedBytes {
  private readonly queue = new FairQueue({ size: () => 1, maxWaiting });
  /** Until when the turns so far use up the rate, monotonic ms. */
  private usedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly addressOf: CallerAddress) {}

  /**
   * Pauses a sender until it may be read for `turnBytes`.
   * @param stream what is paused: a request, or a socket whose request was malformed
   * @throws ApiError internalError when too many senders wait, or after `timeoutMs`. The stream is still paused then
   */
  async pauseForTurn(stream: Readable, sender: Addressed, timeoutMs: number): Promise<void> {
    stream.pause();
    await this.queue.run(networkOf(this.addressOf(sender)), timeoutMs, () => this.untilFree());
    stream.resume();
  }

  private async untilFree(): Promise<void> {
    const nowMs = performance.now();
    this.usedUntilMs = Math.max(this.usedUntilMs, nowMs - msOf(burstBytes)) + msOf(turnBytes);
    if (this.usedUntilMs > nowMs) await wait(this.usedUntilMs - nowMs);
  }
}
