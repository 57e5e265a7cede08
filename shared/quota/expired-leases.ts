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
 * Ends the leases of one counter that have run out: settled when the ledger has the call, released when it has not.
 * A released call may still be recorded, by a database that was frozen with the commit on its way: the counter is
 * recounted later.
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
