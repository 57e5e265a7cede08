import { type Redis, redisNowMs, runBeganMs } from '../redis/connect.js';
import { leasesKey, type UsageCounter, usageKey } from '../redis/keys.js';
import { type ActiveCounter, type BeforeSettling, endExpiredLeases } from './leases.js';
import type { LedgerView } from './ledger-view.js';
import type { Quota } from './quota.js';

const idleMs = 10 * 60 * 1_000;
/** Counters swept at once: a slow ledger, or open transactions of a dead gateway, must not delay all other counters. */
const maxInFlight = 4;

export interface SweepDeps {
  readonly redis: Redis;
  readonly quota: Quota;
  readonly ledger: LedgerView;
  readonly beforeSettling?: BeforeSettling;
}

/** Counts of one sweep: leases settled and released, counters recounted, counters that could not be swept. */
export interface SweepCounts {
  readonly settled: number;
  readonly released: number;
  readonly recounted: number;
  readonly failed: number;
}

/**
 * Sweeps each active counter:
 * 1. settles expired leases whose call is in the ledger, and releases the others;
 * 2. recounts the counter when it may be wrong: a recount is due, or Redis has restarted;
 * 3. takes a counter off the list that was idle for ten minutes.
 *
 * Any number of sweeps may run at once. A counter whose ledger cannot be read keeps its leases until the next sweep.
 * @throws the error of Redis when the list of counters cannot be read
 */
export async function sweepLeases(deps: SweepDeps): Promise<SweepCounts> {
  const { redis, quota, ledger, beforeSettling } = deps;
  const { commands, leaseMs } = quota;
  const nowMs = await redisNowMs(redis);
  const runMs = await runBeganMs(redis, nowMs);
  const counts = { settled: 0, released: 0, recounted: 0, failed: 0 };
  const sweepCounter = async (active: ActiveCounter): Promise<void> => {
    const { counter } = active;
    const ended = await endExpiredLeases(counter, { redis, commands, ledger, leaseMs, beforeSettling });
    counts.settled += ended.settled;
    counts.released += ended.released;
    if (await needsRecount(counter, { redis, nowMs, runMs, leaseMs }))
      counts.recounted += (await quota.recount(counter)) ? 1 : 0;
    await dropWhenIdle(active, deps, nowMs);
  };
  const waiting = (await quota.activeCounters.list()).values();
  const sweepOneByOne = async (): Promise<void> => {
    for (const active of waiting)
      await sweepCounter(active).catch(() => {
        counts.failed += 1;
      });
  };
  await Promise.all(Array.from({ length: maxInFlight }, sweepOneByOne));
  return counts;
}

/**
 * Whether a recount is due: one was requested, or Redis has restarted since the last. A second recount follows a lease
 * after the restart, when all calls that were in flight have ended.
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
  if (typeof countedAt !== 'string') return false; // unknown: its next use rebuilds it
  if (typeof recountAt === 'string' && Number(recountAt) <= nowMs) return true;
  if (runMs === 0) return false;
  const leaseAfterRunMs = runMs + leaseMs;
  return Number(countedAt) < runMs || (Number(countedAt) < leaseAfterRunMs && leaseAfterRunMs <= nowMs);
}

async function dropWhenIdle(active: ActiveCounter, { redis, quota }: SweepDeps, nowMs: number): Promise<void> {
  if (nowMs - Number(active.score) < idleMs) return;
  const [openLeases, waitsForRecount] = await Promise.all([
    redis.zcard(leasesKey(active.counter)),
    redis.hexists(usageKey(active.counter), 'recount_at'),
  ]);
  if (openLeases === 0 && waitsForRecount === 0) await quota.activeCounters.drop(active);
}
