import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import { FairQueue } from '../dispatch/fair-queue.js';
import { msUntil } from '../scoring/scoring-call.js';
import { CallerGone } from './read-body.js';
import type { ReceivedCall } from './receive-call.js';

/** A body of this size takes the gateway's thread for milliseconds at a time. */
export const largeBytes = 64 * 1024;
/** Large calls at once: enough to keep the workers busy. */
const maxInFlight = 2;
/** A call that takes longer waits for a slow model or for a worker that died. It must not delay other large calls. */
const defaultMaxHoldMs = 1_000;
/** Waiting calls hold their bodies, so memory limits their number. */
const maxWaiting = 64;

/** The parts of a received call that its turn depends on. */
export type QueuedCall = Pick<ReceivedCall, 'body' | 'hasHungUp'> & {
  readonly deadline: Pick<ReceivedCall['deadline'], 'monotonicMs'>;
  readonly apiKey: Pick<ReceivedCall['apiKey'], 'organisation_id'>;
};

export interface CallTurn {
  /** Ends a turn of the event loop between two steps of a large call, so that other calls run. */
  readonly yieldToEventLoop: () => Promise<void>;
}

const smallTurn: CallTurn = { yieldToEventLoop: async () => undefined };
const largeTurn: CallTurn = { yieldToEventLoop: () => nextTurn() };

/**
 * Limits the large calls that run at once. A gateway has one thread. Small calls would otherwise wait behind the
 * parsing of every large body that has arrived. Organisations take turns.
 */
export class LargeBodies {
  private readonly queue = new FairQueue({ size: () => maxInFlight, maxWaiting });

  constructor(private readonly maxHoldMs = defaultMaxHoldMs) {}

  /**
   * Runs `work` for a call whose body has arrived; at once when the body is small.
   * @throws ApiError internalError when its turn does not come in time; CallerGone; what `work` throws
   */
  async inTurn<Result>(call: QueuedCall, work: (turn: CallTurn) => Promise<Result>): Promise<Result> {
    if (call.body.length < largeBytes) return await work(smallTurn);
    return await new Promise<Result>((resolve, reject) => {
      const begin = async () => {
        if (call.hasHungUp()) throw new CallerGone('the caller hung up while the call waited for its turn');
        const result = work(largeTurn);
        result.then(resolve, reject);
        await this.hold(result);
      };
      this.queue.run(call.apiKey.organisation_id, msUntil(call.deadline), begin).catch(reject);
    });
  }

  /** Holds a place of the queue until the call ends, or for `maxHoldMs`. */
  private async hold(work: Promise<unknown>): Promise<void> {
    const limit = new AbortController();
    const ended = work.catch(() => undefined);
    await Promise.race([ended, wait(this.maxHoldMs, undefined, limit).catch(() => undefined)]);
    limit.abort();
  }
}
