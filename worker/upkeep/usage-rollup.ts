import { eachAtOnce } from '../../shared/async/at-once.js';
import type { Logger } from '../../shared/process/logger.js';
import type { ActiveCounters } from '../../shared/quota/leases.js';
import type { UsageLedger } from '../../shared/store/calls/usage-ledger.js';

const countersAtOnce = 4;

export interface RollUpDeps {
  readonly activeCounters: Pick<ActiveCounters, 'list'>;
  readonly ledger: Pick<UsageLedger, 'advanceRollup'>;
  readonly logger: Logger;
}

/**
 * Rolls up the older calls of all active counters, so that only the newer ones are read when a counter is restored. A
 * counter that fails does not stop the others; the next run retries it.
 * @throws errors of Redis when the list of counters cannot be read
 */
export async function rollUpUsage({ activeCounters, ledger, logger }: RollUpDeps): Promise<void> {
  await eachAtOnce(await activeCounters.list(), countersAtOnce, (counter) =>
    ledger.advanceRollup(counter).catch((error: unknown) => {
      logger.warn({ counter, error }, 'usage roll-up failed; retrying');
    }),
  );
}
