import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../process/clock.js';
import type { Redis } from '../redis/connect.js';
import { redisNowMs } from '../redis/info.js';
import { type UsageCounter, usageKey } from '../redis/keys.js';
import type { ActiveCounters } from './active-counters.js';
import { QuotaUnavailable, quotaCode } from './codes.js';
import type { QuotaCommands } from './commands.js';
import type { CounterLock, CounterLocks } from './counter-lock.js';
import { recountUnderLock } from './counter-recount.js';
import { recentMs } from './leases.js';
import type { LedgerView, RecordedCall } from './ledger-view.js';

const giveUpAfterMs = 15_000;
const lookAgainAfterMs = 20;
const callsPerBatch = 1_000;
const keepCounterMs = 70 * 24 * 60 * 60 * 1_000;

export interface RebuildDeps {
  readonly redis: Redis;
  readonly commands: QuotaCommands;
  readonly ledger: LedgerView;
  readonly locks: CounterLocks;
  readonly activeCounters: ActiveCounters;
  readonly clock: Clock;
  readonly leaseMs: number;
}

/**
 * Takes counters from the ledger that Redis does not know (a new month's, or all of them after Redis was emptied), or knows
 * from an earlier run only (after a restart or a failover the last of it may be lost).
 * 1. Takes the counter's lock; whoever does not get it waits until the counter is there.
 * 2. Puts the counter on the sweep's list, which was lost with it.
 * 3. Reads the ledger's sum and the calls of late.
 * 4. Marks these calls as settled, then sets the counter. Each script checks that the lock was never lost in between. Where
 *    the counter is there, and leases with it, they stay: see `recountCounter`.
 */
export class CounterRebuild {
  private readonly underWay = new Map<string, Promise<void>>();

  constructor(private readonly deps: RebuildDeps) {}

  /**
   * Resolves once the counter is known to Redis. Calls for the same counter share one rebuild.
   * @throws QuotaUnavailable when another process takes more than 15 s; or what Redis or the ledger fails with
   */
  rebuild(counter: UsageCounter): Promise<void> {
    const name = usageKey(counter);
    const underWay = this.underWay.get(name);
    if (underWay) return underWay;
    const rebuild = this.untilKnown(counter).finally(() => this.underWay.delete(name));
    this.underWay.set(name, rebuild);
    return rebuild;
  }

  private async untilKnown(counter: UsageCounter): Promise<void> {
    const giveUpAt = performance.now() + giveUpAfterMs;
    while (performance.now() < giveUpAt) {
      const lock = await this.deps.locks.take(counter);
      if (lock === undefined) {
        await pause(lookAgainAfterMs);
        if (await this.isKnown(counter)) return;
        continue;
      }
      try {
        if (await this.restore(counter, lock)) return;
      } finally {
        await lock.drop();
      }
    }
    throw new QuotaUnavailable('The usage counter could not be restored in time');
  }

  /** Whether the counter is known now; false when the lock was lost on the way, or what has ended meanwhile. */
  private async restore(counter: UsageCounter, lock: CounterLock): Promise<boolean> {
    const { redis, commands, ledger, activeCounters, clock, leaseMs } = this.deps;
    const found = await commands.read(counter);
    if (found.code === quotaCode.done) return true;
    await activeCounters.markActive(counter, await redisNowMs(redis));
    if (found.code === quotaCode.earlierRun) return await recountUnderLock(counter, lock, this.deps);
    const { records, recent } = await ledger.snapshot(counter, {
      recentMs: recentMs(leaseMs),
      nowMs: clock.now(),
    });
    const common = { counter, token: lock.token, leaseMs, keepMs: keepCounterMs };
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

function* batches(calls: readonly RecordedCall[]): Generator<readonly RecordedCall[]> {
  for (let start = 0; start < calls.length; start += callsPerBatch)
    yield calls.slice(start, start + callsPerBatch);
}
