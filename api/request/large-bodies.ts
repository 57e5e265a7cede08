import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { FairQueue } from '../../shared/async/fair-queue.js';
import type { Lane } from '../../shared/messages/score-job.js';
import { msUntil } from '../call/scoring-call.js';
import { CallerGone, type Yielding } from './read-body.js';
import type { ReceivedCall } from './receive-call.js';

/** A body of this size takes the gateway's thread for milliseconds at a time. */
export const largeBytes = 64 * 1024;
/** Large calls at once: one is scored while the body of the next is read. */
const minInFlight = 2;
const maxPauseMs = 60; // the longest step; a call may also have waited for a worker
const besideSmallMs = 60_000; // rare small calls count as well
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

const smallTurn: Yielding = { yieldToEventLoop: async () => undefined };
const turnAlone: Yielding = { yieldToEventLoop: () => nextTurn() };

/**
 * Pauses after each step for as long as the step took. A small call takes six turns of the event loop: without pauses it
 * would wait for a step of the large call in each.
 */
function turnBesideSmall(): Yielding {
  let stepMs = performance.now();
  const yieldToEventLoop = async (): Promise<void> => {
    await wait(Math.min(performance.now() - stepMs, maxPauseMs));
    stepMs = performance.now();
  };
  return { yieldToEventLoop };
}

/**
 * Limits the large calls that run at once: as many as keep the workers of batches busy. A gateway has one thread. Small
 * calls would otherwise wait behind the parsing of every large body that has arrived. Organisations take turns. An
 * organisation's own small calls do not slow its large calls.
 */
export class LargeBodies {
  private readonly queue: FairQueue;
  /** The last two organisations that sent a small call: enough to know whether one is not the caller. */
  private readonly smallCallers = new LRUCache<string, true>({ max: 2, ttl: besideSmallMs });

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
  async inTurn<Result>(call: QueuedCall, work: (turn: Yielding) => Promise<Result>): Promise<Result> {
    const organisationId = call.apiKey.organisation_id;
    if (!(call.isLarge ?? call.body.length >= largeBytes)) {
      this.smallCallers.set(organisationId, true);
      return await work(smallTurn);
    }
    return await new Promise<Result>((resolve, reject) => {
      const begin = async () => {
        if (call.hasHungUp()) throw new CallerGone('the caller hung up while the call waited for its turn');
        const isBesideSmall = [...this.smallCallers.keys()].some((id) => id !== organisationId);
        const result = work(isBesideSmall ? turnBesideSmall() : turnAlone);
        result.then(resolve, reject);
        await this.hold(result);
      };
      this.queue.run(organisationId, msUntil(call.deadline), begin).catch(reject);
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
