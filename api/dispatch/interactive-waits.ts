import { setTimeout as pause } from 'node:timers/promises';
import { calmMs, type LaneQueues } from './lane-queues.js';

/** Above this age singles and batches wait for work that could be held back, ms. */
export const sufferingMs = 15;
/** A timer may fire so long before its time on the clock of `performance.now()`. */
const earlyMs = 1;

/**
 * The age of the oldest chunk of singles and batches that waits in Redis. Or the last long wait in a gateway, if that
 * is longer. It watches the ends of the queues, on this process's own clock: clocks of machines differ by more than the
 * ages that matter.
 */
export class InteractiveWaits {
  private readonly firstSeenMs = new Map<string, number>();

  constructor(
    private readonly queues: Pick<LaneQueues, 'waitingHeads'>,
    private readonly nowMs = () => performance.now(),
  ) {}

  /**
   * Takes one round trip to Redis where nothing waits, at most some `sufferingMs` more where something does.
   * @returns ms: 0 when no chunk waits. It is below `calmMs`, or above `sufferingMs`, when the true age is
   * @throws the error of Redis
   */
  async oldestMs(): Promise<number> {
    const first = await this.look();
    if (first === 0 || first > sufferingMs) return first;
    await pause(calmMs + earlyMs);
    const second = await this.look();
    if (second < calmMs || second > sufferingMs) return second;
    await pause(sufferingMs - calmMs + earlyMs);
    return await this.look();
  }

  /** 0 without a waiting chunk, else more. */
  private async look(): Promise<number> {
    const { ids, heldMs } = await this.queues.waitingHeads();
    const nowMs = this.nowMs();
    for (const id of this.firstSeenMs.keys()) if (!ids.includes(id)) this.firstSeenMs.delete(id);
    for (const id of ids) if (!this.firstSeenMs.has(id)) this.firstSeenMs.set(id, nowMs);
    const ages = ids.map((id) => Math.max(1, nowMs - (this.firstSeenMs.get(id) ?? nowMs)));
    return Math.max(heldMs, ...ages);
  }
}
