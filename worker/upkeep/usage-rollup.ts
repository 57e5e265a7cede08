import type { Logger } from '../../shared/process/logger.js';
import type { ActiveCounters } from '../../shared/quota/leases.js';
import type { UsageLedger } from '../../shared/store/calls/usage-ledger.js';

/** What adding up needs. */
export interface RollUpDeps {
  readonly activeCounters: Pick<ActiveCounters, 'list'>;
  readonly ledger: Pick<UsageLedger, 'advanceRollup'>;
  readonly logger: Logger;
}

/**
 * Adds up the older calls of the counters that are in use, so that to restore one only the younger are read. One that fails
 * is passed over: it is tried again the next time.
 * @throws what Redis fails with when the list of counters cannot be read
 */
export async function rollUpUsage({ activeCounters, ledger, logger }: RollUpDeps): Promise<void> {
  for (const { counter } of await activeCounters.list()) {
    await ledger.advanceRollup(counter).catch((error: unknown) => {
      logger.warn({ counter, error }, 'the older calls of a counter are not added up');
    });
  }
}
