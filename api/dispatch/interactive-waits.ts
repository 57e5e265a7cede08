import { setTimeout as pause } from 'node:timers/promises';
import type { LaneQueues } from './lane-queues.js';

/** Below this age of the oldest chunk no single or batch suffers, ms. */
export const calmMs = 5;
/** Above this age singles and batches wait for work that could be held back, ms. */
export const sufferingMs = 15;

/**
 * The age of the oldest chunk of singles and batches that waits. Measured by watching the ends of the queues, on this
 * process's own clock: clocks of machines differ by more than the ages that matter.
 */
export class InteractiveWaits {
  private readonly firstSeenMs = new Map<string, number>();

  constructor(
    private readonly queues: Pick<LaneQueues, 'waitingHeads'>,
    private readonly nowMs = () => performance.now(),
  ) {}

  /**
   * Takes one round trip to Redis where nothing waits, at most `sufferingMs` more where something does.
   * @returns at most the true age, ms: 0 when no chunk waits. It is below `calmMs`, or above `sufferingMs`, when the
   * true age is
   * @throws the error of Redis
   */
  async oldestMs(): Promise<number> {
    const first = await this.look();
    if (first === 0 || first > sufferingMs) return first;
    await pause(calmMs);
    const second = await this.look();
    if (second < calmMs || second > sufferingMs) return second;
    await pause(sufferingMs - calmMs);
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
