import type { Redis } from '../redis/connect.js';
import { activeCountersKey, callsToVoidKey, type UsageCounter } from '../redis/keys.js';
import { sendAtOnce } from '../redis/lua-command.js';
import { type QuotaCommands, quotaCode } from './commands.js';
import type { LedgerView } from './ledger-view.js';

/** The length of a lease: three deadlines of the slower endpoint, so that a call cannot be recorded after its lease. */
export const leaseMsOf = (config: { readonly requestTimeoutMs: number; readonly webhookTimeoutMs: number }): number =>
  3 * Math.max(config.requestTimeoutMs, config.webhookTimeoutMs);

/** Max age, in leases, of a recorded call that may still be settled. */
const recentLeases = 2;

/** Ms for which a rebuilt counter must know recorded calls one by one. */
export const recentMs = (leaseMs: number): number => recentLeases * leaseMs;

const leasesPerBatch = 500;

/** Runs before recorded calls are settled without their scores. */
export type BeforeSettling = (counter: UsageCounter, callIds: readonly string[]) => Promise<void>;

/** Counts of ended leases. */
interface EndedLeases {
  readonly settled: number;
  readonly released: number;
}

/**
 * Ends the expired leases of one counter: settles calls that are in the ledger, and releases the others. A call is
 * fenced before its release, so that a commit still under way, as in a frozen database, fails. An open transaction may
 * get in the way of the fence; the recount that each release requests then corrects the counter. Recorded calls that
 * are to be voided keep their leases until they are void.
 * @throws the error of Redis or of the ledger; the remaining leases stay
 */
export async function endExpiredLeases(
  counter: UsageCounter,
  deps: {
    readonly redis: Redis;
    readonly commands: QuotaCommands;
    readonly ledger: LedgerView;
    readonly leaseMs: number;
    readonly beforeSettling?: BeforeSettling | undefined;
  },
): Promise<EndedLeases> {
  const { redis, commands, ledger, leaseMs, beforeSettling } = deps;
  const ended = { settled: 0, released: 0 };
  for (;;) {
    const callIds = await commands.expiredLeases(counter, leasesPerBatch);
    if (callIds.length === 0) return ended;
    const recorded = new Set(await ledger.recordedCalls(callIds));
    const others = callIds.filter((callId) => !recorded.has(callId));
    if (others.length > 0) for (const callId of await ledger.fenceCalls(others)) recorded.add(callId);
    const found = recorded.size === 0 ? [] : await redis.hmget(callsToVoidKey, ...recorded);
    const toVoid = new Set([...recorded].filter((_, index) => typeof found[index] === 'string'));
    const settled = [...recorded].filter((callId) => !toVoid.has(callId));
    if (settled.length > 0) await beforeSettling?.(counter, settled);
    const due = callIds.filter((callId) => !toVoid.has(callId));
    await Promise.all(
      due.map(async (callId) => {
        const call = { counter, callId, leaseMs };
        const isRecorded = recorded.has(callId);
        const { code } = await (isRecorded ? commands.settle(call) : commands.release({ ...call, recountLater: true }));
        if (code === quotaCode.done) ended[isRecorded ? 'settled' : 'released'] += 1;
      }),
    );
    if (due.length < leasesPerBatch) return ended;
  }
}

const markAgainAfterMs = 60_000;
const maxMarkedCounters = 10_000;

/** The list of counters that may have leases. The sweep reads it; see `DueCounters`. */
export class ActiveCounters {
  /** When this process marked each counter last, in Redis ms. */
  private readonly markedAtMs = new Map<string, number>();

  constructor(private readonly redis: Redis) {}

  /**
   * Marks a counter as active, unless this process did so in the last minute. Sends the command before it returns, so
   * that a reserve sent next on the same connection arrives after it.
   * @param atRedisMs now or a little later, such as the call's deadline, by Redis time
   */
  async mark(counter: UsageCounter, atRedisMs: number): Promise<void> {
    const member = memberOf(counter);
    const markedAtMs = this.markedAtMs.get(member);
    if (markedAtMs !== undefined && Math.abs(atRedisMs - markedAtMs) < markAgainAfterMs) return;
    if (this.markedAtMs.size >= maxMarkedCounters) this.markedAtMs.clear();
    this.markedAtMs.set(member, atRedisMs);
    try {
      await sendAtOnce(this.redis, 'zadd', [activeCountersKey, 'GT', atRedisMs, member]);
    } catch (error) {
      this.markedAtMs.delete(member);
      throw error;
    }
  }

  /** Marks a counter as active also when this process did so just before: the list may have been lost since. */
  async markActive(counter: UsageCounter, atRedisMs: number): Promise<void> {
    this.markedAtMs.delete(memberOf(counter));
    await this.mark(counter, atRedisMs);
  }

  async list(): Promise<UsageCounter[]> {
    const members = await this.redis.zrange(activeCountersKey, 0, '-1');
    return members.flatMap((member) => counterOf(member) ?? []);
  }
}

/** Names a counter. `counterOf` reads the name. */
export const memberOf = ({ organisationId, bucket, month }: UsageCounter): string =>
  `${organisationId} ${bucket} ${month}`;

export function counterOf(member: string): UsageCounter | undefined {
  const [organisationId, bucket, month] = member.split(' ');
  if (organisationId === undefined || month === undefined) return undefined;
  return bucket === 'live' || bucket === 'test' ? { organisationId, bucket, month } : undefined;
}
