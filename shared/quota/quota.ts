import { withTimeout } from '../async/timeouts.js';
import { type Clock, machineClock } from '../contract/dates.js';
import type { ScoredLeads } from '../latest-scores/note-scores.js';
import { type Redis, redisNowMs } from '../redis/connect.js';
import type { UsageCounter } from '../redis/keys.js';
import { Locks } from '../redis/lock.js';

import {
  type QuotaCommands,
  QuotaError,
  QuotaLeaseLost,
  type QuotaReply,
  QuotaTooLate,
  QuotaUnavailable,
  quotaCode,
  quotaCommands,
  quotaError,
} from './commands.js';

import { DueCounters } from './due-counters.js';
import { ActiveCounters } from './leases.js';
import type { LedgerView } from './ledger-view.js';
import { CounterRebuild, recountCounter } from './reconcile.js';

/** Records of one counter: settled, and held by calls in flight. */
export interface Usage {
  readonly used: number;
  readonly leased: number;
}

/** Records held by a call. `used` and `leased` include them. */
export interface Reservation extends Usage {
  readonly counter: UsageCounter;
  readonly callId: string;
  readonly records: number;
}

export interface QuotaDeps {
  readonly redis: Redis;
  readonly ledger: LedgerView;
  /** Ms for which a call holds its records unless it is settled or released; longer than a call's deadline. */
  readonly leaseMs: number;
  /** The service's clock, which dates the ledger's rows. */
  readonly clock?: Clock;
  /** TTL of a dead process's lock on a counter, ms; 3 s by default. */
  readonly lockMs?: number;
  /** Max ms of a rebuild; see `CounterRebuild`. */
  readonly maxRebuildMs?: number;
}

const maxRebuilds = 5;
const waitForRebuildMs = 5_000;

/**
 * The monthly quota. A call's records are held, then settled or released, each exactly once per call id. Counters are
 * in Redis, and are rebuilt from the ledger when Redis does not know them. Any number of processes may share a counter.
 * Commands may arrive twice, late, or without a reply.
 */
export class Quota {
  readonly commands: QuotaCommands;
  readonly activeCounters: ActiveCounters;
  readonly dueCounters: DueCounters;
  readonly leaseMs: number;
  private readonly redis: Redis;
  private readonly ledger: LedgerView;
  private readonly clock: Clock;
  private readonly locks: Locks;
  private readonly lockMs: number;
  private readonly rebuilds: CounterRebuild;

  constructor({ redis, ledger, leaseMs, clock = machineClock(), lockMs = 3_000, ...options }: QuotaDeps) {
    this.commands = quotaCommands(redis);
    this.activeCounters = new ActiveCounters(redis);
    this.dueCounters = new DueCounters(redis);
    this.leaseMs = leaseMs;
    this.redis = redis;
    this.ledger = ledger;
    this.clock = clock;
    this.locks = new Locks(redis);
    this.lockMs = lockMs;
    this.rebuilds = new CounterRebuild({ ...this.deps(), ...options, activeCounters: this.activeCounters });
  }

  /**
   * Holds all records of a call, or none, so that `used + leased` never exceeds `stop`. One round trip, unless the
   * counter must be rebuilt.
   * @param call `deadlineRedisMs` is the Redis time after which no records may be held
   * @throws QuotaWouldCrossStop, QuotaTooLate, QuotaCallEnded, QuotaUnavailable. After the last three the call id
   * cannot be used again. Records that it may hold are released here, or by the sweep if that fails.
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
        // Sent first: the sweep must know the counter before it has a lease.
        const marked = this.activeCounters.mark(counter, deadlineRedisMs);
        const [reply] = await Promise.all([this.commands.reserve({ ...call, leaseMs: this.leaseMs }), marked]);
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
   * Converts the records held by a recorded call to usage. Idempotent.
   * @param how.stop the hard stop, for a call that is not answered yet. When a counter was lost twice while the call
   * ran, it may have been rebuilt with this call and with others that got its records. Above the stop, this call must
   * give way.
   * @param how.latest becomes the latest scores of the call's leads (see LatestScores)
   * @throws QuotaLeaseLost when the call is not counted and never will be: its row must be voided
   * @throws QuotaUnavailable when the outcome is unknown: the row stays, and the sweep settles the call
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
      throw new QuotaLeaseLost("the call's records were given to other calls while Redis was emptied");
    return { used, leased };
  }

  /**
   * Releases the records held by a call. Only for a call that is not in the ledger. After a commit with an unknown
   * outcome, leave the lease to the sweep, or void the row first.
   * @returns false when the call had been settled: a recount within two leases corrects the counter
   * @throws QuotaUnavailable when Redis does not answer; the sweep then releases the call
   */
  async release(counter: UsageCounter, callId: string): Promise<boolean> {
    const reply = await orUnavailable(this.commands.release({ counter, callId, leaseMs: this.leaseMs }));
    if (reply.code !== quotaCode.alreadySettled) return true;
    // The sweep may have taken the counter off its list since the call was settled.
    await orUnavailable(this.activeCounters.markActive(counter, await redisNowMs(this.redis)));
    return false;
  }

  /**
   * The current usage of a counter.
   * @throws QuotaUnavailable when Redis or the ledger does not answer
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
   * Sets a counter in use from the ledger. For the sweep and for operators; see `recountCounter`.
   * @returns whether the counter was set
   * @throws QuotaUnavailable when Redis or the ledger does not answer
   */
  recount(counter: UsageCounter): Promise<boolean> {
    return orUnavailable(recountCounter(counter, this.deps()));
  }

  private deps() {
    return {
      redis: this.redis,
      commands: this.commands,
      ledger: this.ledger,
      locks: this.locks,
      lockMs: this.lockMs,
      clock: this.clock,
      leaseMs: this.leaseMs,
    };
  }

  /** Sends a command. Rebuilds a counter that Redis does not know, and sends the command again. */
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
      const tooLate = () => new QuotaTooLate('the usage counter was not restored in time');
      await orUnavailable(withTimeout(limitMs, this.rebuilds.rebuild(counter), tooLate));
    }
  }
}

/** Wraps errors other than QuotaError in a QuotaUnavailable. */
async function orUnavailable<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (cause) {
    if (cause instanceof QuotaError) throw cause;
    throw new QuotaUnavailable('the usage counter cannot be reached', { cause });
  }
}
