import type { UsageCounter } from '../redis-keys.js';
import type { UsageLedger } from '../store/usage-ledger.js';
import type { NewestScores } from './newest-scores.js';

/**
 * For whoever settles calls of gateways that are gone, and does not know what they scored: gives up the newest scores of
 * their models before.
 */
export const forgettingScores =
  (rooms: { readonly ledger: UsageLedger; readonly newest: NewestScores }) =>
  async ({ organisationId, bucket }: UsageCounter, callIds: readonly string[]): Promise<void> => {
    if (bucket === 'live') await rooms.newest.forget(organisationId, await rooms.ledger.modelsOf(callIds));
  };
