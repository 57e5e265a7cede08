import { eachAtOnce } from '../async/at-once.js';
import { type Redis, redisNowMs, runBeganMs } from '../redis/connect.js';
import type { CounterTimes, DueCounter, NextVisit } from './due-counters.js';
import { type BeforeSettling, endExpiredLeases } from './leases.js';
import type { LedgerView } from './ledger-view.js';
import type { Quota } from './quota.js';

const idleMs = 10 * 60 * 1_000;
/**
 * Counters worked on at once: a slow ledger, or open transactions of a dead gateway, must not delay all other counters.
 */
const maxInFlight = 16;
/**
 * No recount alone begins later in a sweep. After a restart of Redis all counters are due for one, and leases expire.
 */
const maxRecountsMs = 2_000;
/** Pages of a thousand counters visited at once: a silent node of a cluster must not delay those of the others. */
const maxPages = 8;

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
 * Visits each active counter that is due (see `DueCounters`):
 * 1. settles expired leases whose call is in the ledger, and releases the others;
 * 2. recounts the counter when it may be wrong: a recount is due, or Redis has restarted;
 * 3. sets its next visit, or takes it off the lists when it was idle for ten minutes.
 *
 * Any number of sweeps may run at once. A counter whose ledger cannot be read keeps its leases until the next sweep.
 * @throws the error of Redis when the due counters cannot be read
 */
export async function sweepLeases(deps: SweepDeps): Promise<SweepCounts> {
  const { redis, quota, ledger, beforeSettling } = deps;
  const { commands, dueCounters, leaseMs } = quota;
  const startMs = await redisNowMs(redis);
  const runMs = await runBeganMs(redis, startMs);
  // A node that is away must not stop the sweep of the others.
  if (runMs === startMs) await dueCounters.markAll(startMs).catch(() => undefined);
  const counts = { settled: 0, released: 0, recounted: 0, failed: 0 };
  const actAtMs = (times: CounterTimes) => nextActMs(times, { runMs, leaseMs });
  const isExpired = ({ expiresMs, nowMs }: CounterTimes): boolean => expiresMs !== undefined && expiresMs <= nowMs;
  const nextVisit = (due: DueCounter, times: CounterTimes): NextVisit => {
    const nextMs = Math.min(times.expiresMs ?? Number.POSITIVE_INFINITY, actAtMs(times));
    const isIdle = nextMs === Number.POSITIVE_INFINITY && times.nowMs - Number(due.mark) >= idleMs;
    // Later than the start: a sweep visits a counter once.
    return { ...due, isIdle, atMs: Math.max(startMs + 1, Math.min(nextMs, times.nowMs + spread(leaseMs))) };
  };
  /** A counter that failed is due again at the next sweep. */
  const failed = (due: DueCounter): NextVisit => {
    counts.failed += 1;
    return { ...due, atMs: startMs + 1 };
  };

  const withExpired = new Set<DueCounter>();
  const toRecount = new Set<DueCounter>();
  await eachAtOnce(dueCounters.claim(startMs), maxPages, async (page) => {
    const read = await Promise.allSettled(page.map(({ counter }) => dueCounters.timesOf(counter)));
    const later: NextVisit[] = [];
    for (const [index, due] of page.entries()) {
      const times = read[index];
      if (times?.status !== 'fulfilled') later.push(failed(due));
      else if (isExpired(times.value)) withExpired.add(due);
      else if (actAtMs(times.value) <= times.value.nowMs) toRecount.add(due);
      else later.push(nextVisit(due, times.value));
    }
    await dueCounters.scheduleVisits(later);
  });

  const endMs = performance.now() + maxRecountsMs;
  await eachAtOnce([...withExpired, ...toRecount], maxInFlight, async (due) => {
    const { counter } = due;
    // The counter is due again when the claim ends.
    if (performance.now() > endMs && toRecount.has(due)) return;
    try {
      const ended = await endExpiredLeases(counter, { redis, commands, ledger, leaseMs, beforeSettling });
      counts.settled += ended.settled;
      counts.released += ended.released;
      let times = await dueCounters.timesOf(counter);
      if (actAtMs(times) <= times.nowMs) {
        // Not in one expression: the count before would be read before the wait.
        if (await quota.recount(counter)) counts.recounted += 1;
        times = await dueCounters.timesOf(counter);
      }
      await dueCounters.scheduleVisits([nextVisit(due, times)]);
    } catch {
      await dueCounters.scheduleVisits([failed(due)]);
    }
  });
  return counts;
}

/** A lease or up to a quarter less: counters that were visited together, as after a restart, are not so for ever. */
const spread = (leaseMs: number): number => Math.ceil(leaseMs * (1 - Math.random() / 4));

/**
 * When a recount is due, in Redis ms: one was requested, or Redis has restarted since the last. A second recount
 * follows a lease after the restart, when all calls that were in flight have ended. Infinity for a counter without a
 * recount to come.
 */
function nextActMs(
  { countedMs, recountMs }: CounterTimes,
  { runMs, leaseMs }: { readonly runMs: number; readonly leaseMs: number },
): number {
  if (countedMs === undefined) return Number.POSITIVE_INFINITY; // unknown: its next use rebuilds it
  const requestedMs = recountMs ?? Number.POSITIVE_INFINITY;
  if (runMs === 0 || countedMs >= runMs + leaseMs) return requestedMs;
  return Math.min(requestedMs, countedMs < runMs ? runMs : runMs + leaseMs);
}
