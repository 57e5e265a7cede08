import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../contract/dates.js';
import { type Redis, redisNowMs } from '../redis/connect.js';
import { endedCallsKey, leasesKey, rebuildLockKey, type UsageCounter, usageKey } from '../redis/keys.js';
import type { Lock, Locks } from '../redis/lock.js';
import { type QuotaCommands, QuotaUnavailable, quotaCode } from './commands.js';
import { type ActiveCounters, endExpiredLeases, recentMs } from './leases.js';
import type { CounterSnapshot, LedgerView, RecordedCall } from './ledger-view.js';

/*
 * Sets counters from the ledger. `CounterRebuild` is for counters that Redis does not know or trust; calls wait for it.
 * `recountCounter` is for counters in use that may be wrong.
 */

interface RecountDeps {
  readonly redis: Redis;
  readonly commands: QuotaCommands;
  readonly ledger: LedgerView;
  readonly locks: Locks;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly lockMs: number;
}

interface RebuildDeps extends RecountDeps {
  readonly activeCounters: ActiveCounters;
  /** Ms after which a rebuild fails that another process delays. */
  readonly maxRebuildMs?: number;
}

const defaultMaxRebuildMs = 15_000;
const pollMs = 20;
const callsPerBatch = 1_000;
/** TTL of a counter: its month, and late reads of it. */
const counterTtlMs = 70 * 24 * 60 * 60 * 1_000;

/**
 * Rebuilds from the ledger the counters that Redis does not know: in a new month, or when Redis was emptied. Also those
 * of an earlier run of Redis: a restart or a failover may have lost the newest writes.
 *
 * 1. Takes the counter's lock. Without it, waits until the counter is known.
 * 2. Marks the counter as active for the sweep: that list was lost with the counter.
 * 3. Reads the ledger's sum and its recent calls.
 * 4. Marks these calls as settled, then sets the counter. Each script checks the lock. A counter from an earlier run is
 *    recounted instead, which keeps its leases: see `recountCounter`.
 */
export class CounterRebuild {
  private readonly inFlight = new Map<string, Promise<void>>();

  constructor(private readonly deps: RebuildDeps) {}

  /**
   * Resolves when Redis knows the counter. Concurrent calls for one counter share a rebuild.
   * @throws QuotaUnavailable after `maxRebuildMs`; the error of Redis or of the ledger
   */
  rebuild(counter: UsageCounter): Promise<void> {
    const name = usageKey(counter);
    const inFlight = this.inFlight.get(name);
    if (inFlight) return inFlight;
    const rebuild = this.untilKnown(counter).finally(() => this.inFlight.delete(name));
    this.inFlight.set(name, rebuild);
    return rebuild;
  }

  private async untilKnown(counter: UsageCounter): Promise<void> {
    const { maxRebuildMs = defaultMaxRebuildMs } = this.deps;
    const endMs = performance.now() + maxRebuildMs;
    while (performance.now() < endMs) {
      const lock = await takeLock(counter, this.deps);
      if (lock === undefined) {
        await pause(pollMs);
        if (await this.isKnown(counter)) return;
        continue;
      }
      try {
        if (await this.restore(counter, lock)) return;
      } finally {
        await lock.drop();
      }
    }
    throw new QuotaUnavailable('the usage counter could not be restored in time');
  }

  /** Whether the counter is known now. False when the lock, or the list of ended calls, was lost meanwhile. */
  private async restore(counter: UsageCounter, lock: Lock): Promise<boolean> {
    const { redis, commands, ledger, activeCounters, clock, leaseMs } = this.deps;
    const found = await commands.read(counter);
    if (found.code === quotaCode.done) return true;
    await activeCounters.markActive(counter, await redisNowMs(redis));
    if (found.code === quotaCode.earlierRun) return await recountUnderLock(counter, lock, this.deps);
    const { records, recent } = await ledger.snapshot(counter, {
      recentMs: recentMs(leaseMs),
      nowMs: clock.now(),
    });
    const common = { counter, token: lock.token, leaseMs, keepMs: counterTtlMs };
    for (const calls of batches(recent)) {
      const { code } = await commands.restore({ ...common, calls });
      if (code !== quotaCode.done) return code === quotaCode.alreadyDone;
    }
    const { code } = await commands.restore({ ...common, calls: [], records });
    return code === quotaCode.done || code === quotaCode.alreadyDone;
  }

  private async isKnown(counter: UsageCounter): Promise<boolean> {
    return (await this.deps.commands.read(counter)).code === quotaCode.done;
  }
}

/** Locks a counter for one process. The scripts that set it check the token. */
const takeLock = (counter: UsageCounter, { locks, lockMs }: RecountDeps): Promise<Lock | undefined> =>
  locks.take(rebuildLockKey(counter), { ttlMs: lockMs, isRenewed: true });

function* batches(calls: readonly RecordedCall[]): Generator<readonly RecordedCall[]> {
  for (let start = 0; start < calls.length; start += callsPerBatch) yield calls.slice(start, start + callsPerBatch);
}

/** Attempts of a recount while the list of ended calls is lost again and again. */
const maxRecounts = 3;
/** TTL of the list of ended calls: reading the ledger takes half a minute at most. */
const maxRecountMs = 60_000;

/**
 * Sets a counter in use from the ledger, while calls go on. Ends expired leases first. Redis lists the calls that end
 * while the ledger is read, and the recount takes them into account.
 * @returns false when another process has the lock, when the counter is unknown, and when the list of ended calls is
 * incomplete. It is incomplete after a restart of Redis, and while a gateway of a release runs that does not write to
 * it.
 * @throws the error of Redis or of the ledger
 */
export async function recountCounter(counter: UsageCounter, deps: RecountDeps): Promise<boolean> {
  const lock = await takeLock(counter, deps);
  if (lock === undefined) return false;
  try {
    return await recountUnderLock(counter, lock, deps);
  } finally {
    await lock.drop();
  }
}

async function recountUnderLock(counter: UsageCounter, lock: Lock, deps: RecountDeps): Promise<boolean> {
  await endExpiredLeases(counter, deps);
  for (let attempt = 0; attempt < maxRecounts; attempt += 1) {
    const code = await recountOnce(counter, lock, deps);
    if (code !== quotaCode.beginAgain) return code === quotaCode.done;
  }
  return false;
}

async function recountOnce(
  counter: UsageCounter,
  { token }: Lock,
  { redis, commands, ledger, clock, leaseMs }: RecountDeps,
): Promise<number> {
  const begun = await commands.beginRecount({ counter, token, keepMs: maxRecountMs });
  if (begun.code !== quotaCode.done) return begun.code;
  const snapshot = await ledger.snapshot(counter, { recentMs: recentMs(leaseMs), nowMs: clock.now() });
  // Leases before ended calls: a call without a lease now that ends after the second read began after the snapshot.
  const held = new Set(await redis.zrange(leasesKey(counter), 0, '-1'));
  const [, ...ended] = await redis.lrange(endedCallsKey(counter), 0, '-1');
  const { code } = await commands.recount({
    counter,
    token,
    entries: 1 + ended.length,
    mayBeHeld: snapshot.recent.filter((call) => held.has(call.callId)),
    ...withEnded(snapshot, ended),
  });
  return code;
}

/**
 * Corrects the ledger's sum by the ended calls. Adds settled ones that are not in it, and subtracts released ones that
 * are. A call whose lease has not expired is a recent one, if it is in the ledger at all.
 */
function withEnded({ records, recent }: CounterSnapshot, ended: readonly string[]) {
  const inSum = new Set(recent.map(({ callId }) => callId));
  const counts = { records, settledRecords: 0 };
  for (const entry of ended) {
    const space = entry.indexOf(' ');
    const change = Number(entry.slice(0, space));
    const isSettled = entry.startsWith('+');
    if (isSettled) counts.settledRecords += change;
    if (isSettled !== inSum.has(entry.slice(space + 1))) counts.records += change;
  }
  return counts;
}
