import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import { FairQueue } from '../dispatch/fair-queue.js';
import { msUntil } from '../scoring/scoring-call.js';
import { CallerGone } from './read-body.js';
import type { ReceivedCall } from './receive-call.js';

export interface LargeBodiesOptions {
  /** Monotonic ms. */
  readonly nowMs?: () => number;
  /** A call that takes longer waits for a slow model, or for a worker that died: no reason to hold others up. */
  readonly maxHoldMs?: number;
}

/** A body from this size on takes the gateway's thread for milliseconds at a time. */
export const largeBytes = 64 * 1024;
/** Large calls at once: enough to keep workers busy; while others send small ones, no more than must be. */
const atOnce = { alone: 4, besideSmall: 1 } as const;
/** So that a worker is free for a small one. */
const chunksBesideSmall = 1;
/** Calls that come seldom count as well. */
const besideSmallMs = 60_000;
/** While small calls of others come, a large one is followed by as long a pause as it took, up to this. */
const maxPauseMs = 250;
const pausesMs = 2_000;
/** Each holds its body, so they are bounded by memory, too. */
const maxWaiting = 64;

/** What the gateway's rooms have to know of a call to give it its turn. */
export type CallToWait = Pick<ReceivedCall, 'body' | 'hasHungUp'> & {
  readonly deadline: Pick<ReceivedCall['deadline'], 'monotonicMs'>;
  readonly apiKey: Pick<ReceivedCall['apiKey'], 'organisation_id'>;
};

interface SmallCall {
  readonly organisationId: string;
  readonly atMs: number;
}

/** How a call is to be done. */
export interface CallTurn {
  /** Ends a turn of the event loop, so that others have theirs. */
  readonly yieldToEventLoop: () => Promise<void>;
  /** How many of its chunks the workers may have at once. */
  readonly chunksAtOnce: number;
}

const smallTurn: CallTurn = {
  yieldToEventLoop: async () => undefined,
  chunksAtOnce: Number.POSITIVE_INFINITY,
};

/**
 * Keeps large calls from holding up small ones. A gateway has one thread, and a machine few cores: what a call of a
 * thousand records does with them, every call that arrives meanwhile waits for. So large calls wait for each other,
 * organisation by organisation in turn, where otherwise small ones would wait for all of them; each lets others through
 * between its steps; and while small calls come, large ones have half of the time. An organisation's own small calls do not
 * count: how it divides its share is its own affair.
 */
export class LargeBodies {
  private readonly window: FairQueue;
  private readonly nowMs: () => number;
  private readonly maxHoldMs: number;
  /** The organisation that sent the last small call, and the last that another one sent. */
  private newestSmall: SmallCall | undefined;
  private otherSmall: SmallCall | undefined;
  private isBesideSmall = false;

  constructor({ nowMs = () => performance.now(), maxHoldMs = 1_000 }: LargeBodiesOptions = {}) {
    this.nowMs = nowMs;
    this.maxHoldMs = maxHoldMs;
    const size = () => (this.isBesideSmall ? atOnce.besideSmall : atOnce.alone);
    this.window = new FairQueue({ size, maxWaiting, nowMs });
  }

  /**
   * Does the work of a call whose body has arrived: at once where that is small.
   * @throws ApiError internalError when its turn does not come in time; CallerGone; what `work` throws
   */
  async inTurn<Result>(call: CallToWait, work: (turn: CallTurn) => Promise<Result>): Promise<Result> {
    const organisationId = call.apiKey.organisation_id;
    if (call.body.length < largeBytes) {
      this.noteSmall(organisationId);
      return await work(smallTurn);
    }
    this.isBesideSmall = this.othersSentSmallWithin(besideSmallMs, organisationId);
    return await new Promise<Result>((resolve, reject) => {
      const begin = async () => {
        if (call.hasHungUp()) throw new CallerGone('the caller hung up while waiting');
        const chunksAtOnce = this.isBesideSmall ? chunksBesideSmall : Number.POSITIVE_INFINITY;
        const result = work({ yieldToEventLoop: () => nextTurn(), chunksAtOnce });
        result.then(resolve, reject);
        await this.hold(organisationId, result);
      };
      this.window.run(organisationId, msUntil(call.deadline), begin).catch(reject);
    });
  }

  /** Holds a place until its call has ended, and for a pause after that. */
  private async hold(organisationId: string, work: Promise<unknown>): Promise<void> {
    const beganMs = this.nowMs();
    const limit = new AbortController();
    try {
      await Promise.race([work, wait(this.maxHoldMs, undefined, limit)]);
    } catch {
      // Whoever awaits the work itself reads what it failed with.
    } finally {
      limit.abort();
    }
    if (this.othersSentSmallWithin(pausesMs, organisationId))
      await wait(Math.min(maxPauseMs, this.nowMs() - beganMs));
  }

  private noteSmall(organisationId: string): void {
    if (this.newestSmall?.organisationId !== organisationId) this.otherSmall = this.newestSmall;
    this.newestSmall = { organisationId, atMs: this.nowMs() };
  }

  private othersSentSmallWithin(ms: number, organisationId: string): boolean {
    const isOwn = this.newestSmall?.organisationId === organisationId;
    const last = isOwn ? this.otherSmall : this.newestSmall;
    return last !== undefined && this.nowMs() - last.atMs < ms;
  }
}
