import { eachAtOnce } from '../async/at-once.js';
import { type Redis, redisNowMs, runBeganMs } from '../redis/connect.js';
import type { CounterLook, DueCounter, NextLook } from './due-counters.js';
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
/** Pages of a thousand counters looked at at once: a silent node of a cluster must not delay those of the others. */
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
 * Looks at each active counter that is due (see `DueCounters`):
 * 1. settles expired leases whose call is in the ledger, and releases the others;
 * 2. recounts the counter when it may be wrong: a recount is due, or Redis has restarted;
 * 3. sets its next look, or takes it off the lists when it was idle for ten minutes.
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
  const actAtMs = (look: CounterLook) => nextActMs(look, { runMs, leaseMs });
  const isExpired = ({ expiresMs, nowMs }: CounterLook): boolean => expiresMs !== undefined && expiresMs <= nowMs;
  const nextLook = (due: DueCounter, look: CounterLook): NextLook => {
    const nextMs = Math.min(look.expiresMs ?? Number.POSITIVE_INFINITY, actAtMs(look));
    const isIdle = nextMs === Number.POSITIVE_INFINITY && look.nowMs - Number(due.mark) >= idleMs;
    // Later than the start: a sweep looks at a counter once.
    return { ...due, isIdle, atMs: Math.max(startMs + 1, Math.min(nextMs, look.nowMs + spread(leaseMs))) };
  };
  /** A counter that failed is due again at the next sweep. */
  const failed = (due: DueCounter): NextLook => {
    counts.failed += 1;
    return { ...due, atMs: startMs + 1 };
  };

  const withExpired = new Set<DueCounter>();
  const toRecount = new Set<DueCounter>();
  await eachAtOnce(dueCounters.claim(startMs), maxPages, async (page) => {
    const looks = await Promise.allSettled(page.map(({ counter }) => dueCounters.look(counter)));
    const later: NextLook[] = [];
    for (const [index, due] of page.entries()) {
      const look = looks[index];
      if (look?.status !== 'fulfilled') later.push(failed(due));
      else if (isExpired(look.value)) withExpired.add(due);
      else if (actAtMs(look.value) <= look.value.nowMs) toRecount.add(due);
      else later.push(nextLook(due, look.value));
    }
    await dueCounters.lookLater(later);
  });

  const endMs = performance.now() + maxRecountsMs;
  await eachAtOnce([...withExpired, ...toRecount], maxInFlight, async (due) => {
    const { counter } = due;
    // It is due again when the claim ends.
    if (performance.now() > endMs && toRecount.has(due)) return;
    try {
      const ended = await endExpiredLeases(counter, { redis, commands, ledger, leaseMs, beforeSettling });
      counts.settled += ended.settled;
      counts.released += ended.released;
      let look = await dueCounters.look(counter);
      if (actAtMs(look) <= look.nowMs) {
        // Not in one expression: the count before would be read before the wait.
        if (await quota.recount(counter)) counts.recounted += 1;
        look = await dueCounters.look(counter);
      }
      await dueCounters.lookLater([nextLook(due, look)]);
    } catch {
      await dueCounters.lookLater([failed(due)]);
    }
  });
  return counts;
}

/** A lease or up to a quarter less: counters that were looked at together, as after a restart, are not so for ever. */
const spread = (leaseMs: number): number => Math.ceil(leaseMs * (1 - Math.random() / 4));

/**
 * When a recount is due, in Redis ms: one was requested, or Redis has restarted since the last. A second recount
 * follows a lease after the restart, when all calls that were in flight have ended. Infinity for a counter without a
 * recount to come.
 */
function nextActMs(
  { countedMs, recountMs }: CounterLook,
  { runMs, leaseMs }: { readonly runMs: number; readonly leaseMs: number },
): number {
  if (countedMs === undefined) return Number.POSITIVE_INFINITY; // unknown: its next use rebuilds it
  const requestedMs = recountMs ?? Number.POSITIVE_INFINITY;
  if (runMs === 0 || countedMs >= runMs + leaseMs) return requestedMs;
  return Math.min(requestedMs, countedMs < runMs ? runMs : runMs + leaseMs);
}
