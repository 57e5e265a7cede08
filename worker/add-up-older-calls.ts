import type { Logger } from '../shared/logger.js';
import type { BusyCounters } from '../shared/quota/busy-counters.js';
import type { UsageLedger } from '../shared/store/usage-ledger.js';

/** What adding up needs. */
export interface AddingUpRooms {
  readonly busy: Pick<BusyCounters, 'list'>;
  readonly ledger: Pick<UsageLedger, 'advanceSum'>;
  readonly logger: Logger;
}

/**
 * Adds up the older calls of the counters that are in use, so that to restore one only the younger are read. One that fails
 * is passed over: it is tried again the next time.
 * @throws what Redis fails with when the list of counters cannot be read
 */
export async function addUpOlderCalls({ busy, ledger, logger }: AddingUpRooms): Promise<void> {
  for (const { counter } of await busy.list()) {
    await ledger.advanceSum(counter).catch((error: unknown) => {
      logger.warn({ counter, error }, 'the older calls of a counter are not added up');
    });
  }
}
