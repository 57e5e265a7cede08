import { setTimeout as wait } from 'node:timers/promises';
import { FairQueue } from '../../shared/async/fair-queue.js';
import type { Lane } from '../../shared/contract/lanes.js';
import { msUntil } from '../call/scoring-call.js';
import { CallerGone } from './read-body.js';
import type { ReceivedCall } from './receive-call.js';

/** A body of this size takes the gateway's thread for milliseconds at a time. */
export const largeBytes = 64 * 1024;
/** Large calls at once: one is scored while the body of the next is read. */
const minInFlight = 2;
/** A call that takes longer waits for a slow model or for a worker that died. It must not delay other large calls. */
const defaultMaxHoldMs = 1_000;
/** Waiting calls hold their bodies, so memory limits their number. */
const maxWaiting = 64;

/** The lane of a call: one record with a large body takes a worker as long as a batch. */
export const laneOf = (records: number, body: Buffer): Lane =>
  records === 1 && body.length < largeBytes ? 'singles' : 'batches';

/** The parts of a received call that its turn depends on. */
export type QueuedCall = Pick<ReceivedCall, 'body' | 'hasHungUp'> & {
  readonly deadline: Pick<ReceivedCall['deadline'], 'monotonicMs'>;
  readonly apiKey: Pick<ReceivedCall['apiKey'], 'organisation_id'>;
  /** By default a call is large if its body is. */
  readonly isLarge?: boolean;
};

/**
 * Limits the large calls that run at once in a thread: as many as keep the workers of batches busy. Each takes the
 * thread for milliseconds at a time, and holds its body. Organisations take turns.
 */
export class LargeBodies {
  private readonly queue: FairQueue;

  /** @param batchWorkers the processes that score batches now, of all pools */
  constructor(
    batchWorkers: () => number,
    private readonly maxHoldMs = defaultMaxHoldMs,
  ) {
    this.queue = new FairQueue({ size: () => Math.max(minInFlight, Math.ceil(batchWorkers())), maxWaiting });
  }

  /**
   * Runs `work` for a call whose body has arrived; at once when the body is small.
   * @throws ApiError internalError when its turn does not come in time; CallerGone; what `work` throws
   */
  async inTurn<Result>(call: QueuedCall, work: () => Promise<Result>): Promise<Result> {
    if (!(call.isLarge ?? call.body.length >= largeBytes)) return await work();
    return await new Promise<Result>((resolve, reject) => {
      const begin = async () => {
        if (call.hasHungUp()) throw new CallerGone('the caller hung up while the call waited for its turn');
        const result = work();
        result.then(resolve, reject);
        await this.hold(result);
      };
      // A call that begins later has too little time left. Its work would only delay the others.
      const waitMs = Math.max(1, msUntil(call.deadline) - this.maxHoldMs);
      this.queue.run(call.apiKey.organisation_id, waitMs, begin).catch(reject);
    });
  }

  /** Counts as running until the call ends, or for `maxHoldMs`. */
  private async hold(work: Promise<unknown>): Promise<void> {
    const limit = new AbortController();
    const ended = work.catch(() => undefined);
    await Promise.race([ended, wait(this.maxHoldMs, undefined, limit).catch(() => undefined)]);
    limit.abort();
  }
}
