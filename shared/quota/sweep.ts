import type { Redis } from '../redis/connect.js';
import { redisNowMs, runBeganMs } from '../redis/info.js';
import { leasesKey, type UsageCounter, usageKey } from '../redis/keys.js';
import type { ActiveCounter } from './active-counters.js';
import { type BeforeSettling, endExpiredLeases } from './leases.js';
import type { LedgerView } from './ledger-view.js';
import type { Quota } from './quota.js';

const idleMs = 10 * 60 * 1_000;
/** One whose ledger is slow, or whose calls a dead gateway's transactions keep, must not hold up all the others. */
const countersAtOnce = 4;

export interface SweepDeps {
  readonly redis: Redis;
  readonly quota: Quota;
  readonly ledger: LedgerView;
  readonly beforeSettling?: BeforeSettling;
}

/** What a sweep did: leases settled and released, counters taken from the ledger again, counters it could not sweep. */
export interface SweepCounts {
  readonly settled: number;
  readonly released: number;
  readonly recounted: number;
  readonly failed: number;
}

/**
 * Ends what nobody ended. For each busy counter:
 * 1. leases that have run out are settled when the ledger has the call, and released when it has not;
 * 2. a counter that may be wrong (see `recount_at`; or Redis has restarted) is taken from the ledger again;
 * 3. a counter that was idle for ten minutes is taken off the list.
 * Any number of sweeps may run at once. A counter whose ledger cannot be read keeps its leases until the next sweep.
 * @throws what Redis fails with when the list of counters cannot be read
 */
export async function sweepLeases(deps: SweepDeps): Promise<SweepCounts> {
  const { redis, quota, ledger, beforeSettling } = deps;
  const { commands, leaseMs } = quota;
  const nowMs = await redisNowMs(redis);
  const runMs = await runBeganMs(redis, nowMs);
  const counts = { settled: 0, released: 0, recounted: 0, failed: 0 };
  const sweepCounter = async (activeCounters: ActiveCounter): Promise<void> => {
    const { settled, released } = await endExpiredLeases(activeCounters.counter, {
      commands,
      ledger,
      leaseMs,
      beforeSettling,
    });
    counts.settled += settled;
    counts.released += released;
    if (await needsRecount(activeCounters.counter, { redis, nowMs, runMs, leaseMs }))
      counts.recounted += (await quota.recount(activeCounters.counter)) ? 1 : 0;
    await dropWhenIdle(activeCounters, deps, nowMs);
  };
  const waiting = (await quota.activeCounters.list()).values();
  const sweepOneByOne = async (): Promise<void> => {
    for (const activeCounters of waiting)
      await sweepCounter(activeCounters).catch(() => {
        counts.failed += 1;
      });
  };
  await Promise.all(Array.from({ length: countersAtOnce }, sweepOneByOne));
  return counts;
}

/**
 * Whether a counter asks for it, or was not taken from the ledger since this run of Redis began, or not since a lease
 * after that, when every call that was under way at the beginning has ended.
 */
async function needsRecount(
  counter: UsageCounter,
  times: {
    readonly redis: Redis;
    readonly nowMs: number;
    readonly runMs: number;
    readonly leaseMs: number;
  },
): Promise<boolean> {
  const { redis, nowMs, runMs, leaseMs } = times;
  const [countedAt, recountAt] = await redis.hmget(usageKey(counter), 'counted_at', 'recount_at');
  if (typeof countedAt !== 'string') return false; // not known: it will be restored when it is used next
  if (typeof recountAt === 'string' && Number(recountAt) <= nowMs) return true;
  if (runMs === 0) return false;
  const aLeaseLaterMs = runMs + leaseMs;
  return Number(countedAt) < runMs || (Number(countedAt) < aLeaseLaterMs && aLeaseLaterMs <= nowMs);
}

async function dropWhenIdle(
  activeCounters: ActiveCounter,
  { redis, quota }: SweepDeps,
  nowMs: number,
): Promise<void> {
  if (nowMs - Number(activeCounters.score) < idleMs) return;
  const [openLeases, waitsForRecount] = await Promise.all([
    redis.zcard(leasesKey(activeCounters.counter)),
    redis.hexists(usageKey(activeCounters.counter), 'recount_at'),
  ]);
  if (openLeases === 0 && waitsForRecount === 0) await quota.activeCounters.drop(activeCounters);
}
