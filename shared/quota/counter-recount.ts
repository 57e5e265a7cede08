import type { Clock } from '../clock.js';
import type { Redis } from '../redis.js';
import { leasesKey, type UsageCounter, usageKey } from '../redis-keys.js';
import type { CounterLock, CounterLocks } from './counter-lock.js';
import { endExpiredLeases } from './expired-leases.js';
import { recentMs } from './lease.js';
import type { LedgerView } from './ledger-view.js';
import { quotaCode } from './quota-codes.js';
import type { QuotaCommands } from './quota-commands.js';

const mostAttempts = 5;

export interface RecountRooms {
  readonly redis: Redis;
  readonly commands: QuotaCommands;
  readonly ledger: LedgerView;
  readonly locks: CounterLocks;
  readonly clock: Clock;
  readonly leaseMs: number;
}

/**
 * Sets a counter that is in use to what the ledger says, while calls go on. It is exact when no call is settled during
 * the reading of the ledger, which is tried a few times. Leases that have run out are ended first.
 * @returns whether it was done; false when another process holds the counter, the counter moved each time, or is not known
 * @throws what Redis or the ledger fails with
 */
export async function recountCounter(counter: UsageCounter, rooms: RecountRooms): Promise<boolean> {
  const lock = await rooms.locks.take(counter);
  if (lock === undefined) return false;
  try {
    return await recountUnderLock(counter, lock, rooms);
  } finally {
    await lock.drop();
  }
}

/** As `recountCounter`, by the holder of the counter's lock, who still has to drop it. */
export async function recountUnderLock(
  counter: UsageCounter,
  lock: CounterLock,
  rooms: RecountRooms,
): Promise<boolean> {
  await endExpiredLeases(counter, rooms);
  for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
    const code = await recountOnce(counter, lock, rooms);
    if (code !== quotaCode.counterMoved) return code === quotaCode.done;
  }
  return false;
}

async function recountOnce(
  counter: UsageCounter,
  { token }: CounterLock,
  { redis, commands, ledger, clock, leaseMs }: RecountRooms,
): Promise<number> {
  const usedBefore = await redis.hget(usageKey(counter), 'used');
  if (usedBefore === null) return quotaCode.unknownCounter;
  const { records, recent } = await ledger.snapshot(counter, {
    recentMs: recentMs(leaseMs),
    nowMs: clock.now(),
  });
  // Read after the ledger: a call that is held later than this was reserved after the ledger was read.
  const held = new Set(await redis.zrange(leasesKey(counter), 0, '-1'));
  const mayBeHeld = recent.filter((call) => held.has(call.callId));
  const { code } = await commands.recount({ counter, token, usedBefore, records, mayBeHeld });
  return code;
}
