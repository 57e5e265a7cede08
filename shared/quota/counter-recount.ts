import type { Clock } from '../process/clock.js';
import type { Redis } from '../redis/connect.js';
import { endedCallsKey, leasesKey, type UsageCounter } from '../redis/keys.js';
import { quotaCode } from './codes.js';
import type { QuotaCommands } from './commands.js';
import type { CounterLock, CounterLocks } from './counter-lock.js';
import { endExpiredLeases, recentMs } from './leases.js';
import type { CounterSnapshot, LedgerView } from './ledger-view.js';

/** It is begun again when it is not known what has ended meanwhile. */
const maxAttempts = 3;
/** What ends is noted for no longer than this: a read of the ledger takes half a minute at most. */
const maxRecountMs = 60_000;

export interface RecountDeps {
  readonly redis: Redis;
  readonly commands: QuotaCommands;
  readonly ledger: LedgerView;
  readonly locks: CounterLocks;
  readonly clock: Clock;
  readonly leaseMs: number;
}

/**
 * Sets a counter that is in use to what the ledger says, while calls go on. Leases that have run out are ended first; what
 * ends while the ledger is read is noted in Redis, and allowed for.
 * @returns whether it was done; false when another process holds the counter, when it is not known, and when what has ended
 * meanwhile is not: Redis was restarted, or a gateway of a release that does not note it is at work
 * @throws what Redis or the ledger fails with
 */
export async function recountCounter(counter: UsageCounter, deps: RecountDeps): Promise<boolean> {
  const lock = await deps.locks.take(counter);
  if (lock === undefined) return false;
  try {
    return await recountUnderLock(counter, lock, deps);
  } finally {
    await lock.drop();
  }
}

/** As `recountCounter`, by the holder of the counter's lock, who still has to drop it. */
export async function recountUnderLock(
  counter: UsageCounter,
  lock: CounterLock,
  deps: RecountDeps,
): Promise<boolean> {
  await endExpiredLeases(counter, deps);
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const code = await recountOnce(counter, lock, deps);
    if (code !== quotaCode.beginAgain) return code === quotaCode.done;
  }
  return false;
}

async function recountOnce(
  counter: UsageCounter,
  { token }: CounterLock,
  { redis, commands, ledger, clock, leaseMs }: RecountDeps,
): Promise<number> {
  const begun = await commands.beginRecount({ counter, token, keepMs: maxRecountMs });
  if (begun.code !== quotaCode.done) return begun.code;
  const snapshot = await ledger.snapshot(counter, { recentMs: recentMs(leaseMs), nowMs: clock.now() });
  // In this order: a call that holds no lease by now, and ends after what has ended was read, began after the snapshot.
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
 * The ledger's sum, with the calls that were settled without being in it, and without those that were released though they
 * are; and what was settled in all. A call of a lease that has not run out is one of the recent ones, when it is in the
 * ledger at all.
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
