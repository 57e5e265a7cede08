import type { UsageCounter } from '../redis/keys.js';
import { quotaCode } from './codes.js';
import type { QuotaCommands } from './commands.js';
import type { LedgerView } from './ledger-view.js';

/** A lease lasts three deadlines of the slowest endpoint, so that it cannot end while its call may still be recorded. */
export const leaseMsOf = (config: {
  readonly requestTimeoutMs: number;
  readonly webhookTimeoutMs: number;
}): number => 3 * Math.max(config.requestTimeoutMs, config.webhookTimeoutMs);

/** In leases: how far back a call may have been recorded and still be about to settle. */
const recentLeases = 2;

/** The span of recent calls that a counter taken from the ledger has to know one by one, in ms. */
export const recentMs = (leaseMs: number): number => recentLeases * leaseMs;

const leasesPerBatch = 500;

/** Told of recorded calls that are about to be settled without what they scored. */
export type BeforeSettling = (counter: UsageCounter, callIds: readonly string[]) => Promise<void>;

/** How many leases were ended, and how. */
export interface EndedLeases {
  readonly settled: number;
  readonly released: number;
}

/**
 * Ends the leases of one counter that have run out: settled when the ledger has the call, released when it has not. Before
 * it is released, a call is fenced: a commit of it that is still under way, as in a database that was frozen, then fails.
 * Where a transaction was in the way of that, the recount that each release asks for finds what came of it.
 * @throws what Redis or the ledger fails with; leases that were not looked at stay
 */
export async function endExpiredLeases(
  counter: UsageCounter,
  deps: {
    readonly commands: QuotaCommands;
    readonly ledger: LedgerView;
    readonly leaseMs: number;
    readonly beforeSettling?: BeforeSettling | undefined;
  },
): Promise<EndedLeases> {
  const { commands, ledger, leaseMs, beforeSettling } = deps;
  const ended = { settled: 0, released: 0 };
  for (;;) {
    const callIds = await commands.expiredLeases(counter, leasesPerBatch);
    if (callIds.length === 0) return ended;
    const recorded = new Set(await ledger.recordedCalls(callIds));
    const others = callIds.filter((callId) => !recorded.has(callId));
    if (others.length > 0) for (const callId of await ledger.fenceCalls(others)) recorded.add(callId);
    if (recorded.size > 0) await beforeSettling?.(counter, [...recorded]);
    await Promise.all(
      callIds.map(async (callId) => {
        const call = { counter, callId, leaseMs };
        const isRecorded = recorded.has(callId);
        const { code } = await (isRecorded
          ? commands.settle(call)
          : commands.release({ ...call, recountLater: true }));
        if (code === quotaCode.done) ended[isRecorded ? 'settled' : 'released'] += 1;
      }),
    );
    if (callIds.length < leasesPerBatch) return ended;
  }
}
