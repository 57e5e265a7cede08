import { withTimeout } from '../async/timeouts.js';
import type { ScoredLeads } from '../latest-scores/call-notes.js';
import { type Clock, machineClock } from '../process/clock.js';
import type { Redis } from '../redis/connect.js';
import { redisNowMs } from '../redis/info.js';
import type { UsageCounter } from '../redis/keys.js';
import { ActiveCounters } from './active-counters.js';
import {
  QuotaError,
  QuotaLeaseLost,
  type QuotaReply,
  QuotaTooLate,
  QuotaUnavailable,
  quotaCode,
  quotaError,
} from './codes.js';
import { type QuotaCommands, quotaCommands } from './commands.js';
import { CounterLocks } from './counter-lock.js';
import { CounterRebuild } from './counter-rebuild.js';
import { recountCounter } from './counter-recount.js';
import type { LedgerView } from './ledger-view.js';

/** Records of one counter: settled, and held by calls under way. */
export interface Usage {
  readonly used: number;
  readonly leased: number;
}

/** What a call holds; `used` and `leased` include it. */
export interface Reservation extends Usage {
  readonly counter: UsageCounter;
  readonly callId: string;
  readonly records: number;
}

export interface QuotaDeps {
  readonly redis: Redis;
  readonly ledger: LedgerView;
  /** How long a call holds its records when nobody ends it; longer than a call's deadline. */
  readonly leaseMs: number;
  /** The service's clock, which dates the ledger's rows. */
  readonly clock?: Clock;
}

const maxRebuilds = 5;
const waitForRebuildMs = 5_000;

/**
 * The monthly quota: records are held, then settled or released, each exactly once per call id.
 * Everything lives in Redis and is restored from the ledger when Redis does not know it. Any number of processes may
 * share a counter; a command may be sent twice, late, or never be answered.
 */
export class Quota {
  readonly commands: QuotaCommands;
  readonly activeCounters: ActiveCounters;
  readonly leaseMs: number;
  private readonly redis: Redis;
  private readonly ledger: LedgerView;
  private readonly clock: Clock;
  private readonly locks: CounterLocks;
  private readonly rebuilds: CounterRebuild;

  constructor({ redis, ledger, leaseMs, clock = machineClock() }: QuotaDeps) {
    this.commands = quotaCommands(redis);
    this.activeCounters = new ActiveCounters(redis);
    this.leaseMs = leaseMs;
    this.redis = redis;
    this.ledger = ledger;
    this.clock = clock;
    this.locks = new CounterLocks(redis);
    this.rebuilds = new CounterRebuild({ ...this.rooms(), activeCounters: this.activeCounters });
  }

  /**
   * Holds records for a call, all or none, so that `used + leased` never passes `stop`. One round trip as a rule.
   * @param call `deadlineRedisMs` is the Redis time after which nothing may be held any more
   * @throws QuotaWouldCrossStop, QuotaTooLate, QuotaCallEnded, QuotaUnavailable. After the last three the call id is
   * spent, and what it may hold is given back here (by the sweep, where that does not get through).
   */
  async reserve(call: {
    readonly counter: UsageCounter;
    readonly callId: string;
    readonly records: number;
    readonly stop: number;
    readonly deadlineRedisMs: number;
  }): Promise<Reservation> {
    const { counter, callId, records, deadlineRedisMs } = call;
    try {
      const reserve = async (): Promise<QuotaReply> => {
        const noted = this.activeCounters.note(counter, deadlineRedisMs);
        const [reply] = await Promise.all([
          this.commands.reserve({ ...call, leaseMs: this.leaseMs }),
          noted, // sent first
        ]);
        return reply;
      };
      const waitMs = async () => deadlineRedisMs - (await redisNowMs(this.redis));
      const { used, leased } = await this.onKnownCounter(counter, reserve, waitMs);
      return { counter, callId, records, used, leased };
    } catch (error) {
      if (error instanceof QuotaTooLate || error instanceof QuotaUnavailable)
        this.release(counter, callId).catch(() => undefined);
      throw error;
    }
  }

  /**
   * Turns what a recorded call holds into usage; again for the same call changes nothing.
   * @param how.stop of whoever is yet to be answered. A counter that was lost twice while the call ran was restored with its
   * row and with those of calls that had got its room meanwhile: where it is past the stop by that, the call has to give way
   * @param how.newest what the call scored, where it becomes the newest scores of its leads (see LatestScores)
   * @throws QuotaLeaseLost when the call is not counted and never will be: its row has to be taken back.
   * @throws QuotaUnavailable when it is not known what happened: the row stays, and the sweep settles the call
   */
  async settle(
    counter: UsageCounter,
    callId: string,
    how: { readonly stop?: number; readonly latest?: ScoredLeads | undefined } = {},
  ): Promise<Usage> {
    const { stop = Number.POSITIVE_INFINITY, latest } = how;
    const settle = () => this.commands.settle({ counter, callId, leaseMs: this.leaseMs, latest });
    const { code, used, leased } = await this.onKnownCounter(counter, settle);
    if (code === quotaCode.alreadyDone && used > stop)
      throw new QuotaLeaseLost('The room of the call was given to others while Redis was emptied');
    return { used, leased };
  }

  /**
   * Gives back what a call holds. Only for a call that is not in the ledger: after a commit whose outcome is unknown,
   * leave the lease to the sweep, or remove the row first.
   * @returns false when the call had been settled: its counter will be taken from the ledger again within two leases
   * @throws QuotaUnavailable when Redis does not answer; the sweep then does it
   */
  async release(counter: UsageCounter, callId: string): Promise<boolean> {
    const reply = await orUnavailable(this.commands.release({ counter, callId, leaseMs: this.leaseMs }));
    return reply.code !== quotaCode.alreadySettled;
  }

  /**
   * Usage of a counter as of now.
   * @throws QuotaUnavailable
   */
  async usage(counter: UsageCounter): Promise<Usage> {
    const read = async (): Promise<QuotaReply> => {
      const reply = await this.commands.read(counter);
      return reply.code === quotaCode.earlierRun ? { ...reply, code: quotaCode.unknownCounter } : reply;
    };
    const { used, leased } = await this.onKnownCounter(counter, read);
    return { used, leased };
  }

  /**
   * Takes a counter from the ledger again, while it is in use. For the sweep and for operators; see `recountCounter`.
   * @returns whether it was done
   * @throws QuotaUnavailable when Redis or the ledger does not answer
   */
  recount(counter: UsageCounter): Promise<boolean> {
    return orUnavailable(recountCounter(counter, this.rooms()));
  }

  private rooms() {
    return {
      redis: this.redis,
      commands: this.commands,
      ledger: this.ledger,
      locks: this.locks,
      clock: this.clock,
      leaseMs: this.leaseMs,
    };
  }

  /** Sends a command; restores the counter and sends it again where Redis does not know the counter. */
  private async onKnownCounter(
    counter: UsageCounter,
    command: () => Promise<QuotaReply>,
    waitMs: () => Promise<number> = async () => waitForRebuildMs,
  ): Promise<QuotaReply> {
    for (let rebuilds = 0; ; rebuilds += 1) {
      const reply = await orUnavailable(command());
      if (reply.code > 0) return reply;
      if (reply.code !== quotaCode.unknownCounter || rebuilds === maxRebuilds) throw quotaError(reply);
      const limitMs = await orUnavailable(waitMs());
      const tooLate = () => new QuotaTooLate('The usage counter was not restored in time');
      await orUnavailable(withTimeout(limitMs, this.rebuilds.rebuild(counter), tooLate));
    }
  }
}

/** Gives what `work` gives; what it fails with becomes the cause of a QuotaUnavailable. */
async function orUnavailable<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (cause) {
    if (cause instanceof QuotaError) throw cause;
    throw new QuotaUnavailable('The usage counter cannot be reached', { cause });
  }
}
