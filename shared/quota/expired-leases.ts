import type { UsageCounter } from '../redis-keys.js';
import type { LedgerView } from './ledger-view.js';
import { quotaCode } from './quota-codes.js';
import type { QuotaCommands } from './quota-commands.js';

const leasesPerBatch = 500;

/** How many leases were ended, and how. */
export interface EndedLeases {
  readonly settled: number;
  readonly released: number;
}

/**
 * Ends the leases of one counter that have run out: settled when the ledger has the call, released when it has not. Before
 * it is released, a call is fenced: a commit of it that is still under way, as in a database that was frozen, then fails.
 * @throws what Redis or the ledger fails with; leases that were not looked at stay
 */
export async function endExpiredLeases(
  counter: UsageCounter,
  rooms: { readonly commands: QuotaCommands; readonly ledger: LedgerView; readonly leaseMs: number },
): Promise<EndedLeases> {
  const { commands, ledger, leaseMs } = rooms;
  const ended = { settled: 0, released: 0 };
  for (;;) {
    const callIds = await commands.expiredLeases(counter, leasesPerBatch);
    if (callIds.length === 0) return ended;
    const recorded = await ledger.recordedCalls(counter.organisationId, callIds);
    const others = callIds.filter((callId) => !recorded.has(callId));
    const fenced = others.length === 0 ? new Set<string>() : await ledger.fenceCalls(others);
    await Promise.all(
      callIds.map(async (callId) => {
        const call = { counter, callId, leaseMs };
        if (recorded.has(callId)) {
          if ((await commands.settle(call)).code === quotaCode.done) ended.settled += 1;
        } else if (fenced.has(callId)) {
          const { code } = await commands.release({ ...call, recountLater: true });
          if (code === quotaCode.done) ended.released += 1;
        }
      }),
    );
    // A call that was recorded in between is left to the next sweep, which finds its row.
    if (callIds.length < leasesPerBatch || recorded.size + fenced.size === 0) return ended;
  }
}
