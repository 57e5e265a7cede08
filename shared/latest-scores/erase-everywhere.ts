import { storedCrmId } from '../contract/crm-id.js';
import { type ErasingStores, type ErasureStore, eraseLead, type Lead, leadHash } from '../store/calls/erasures.js';
import type { LatestScores } from './latest-scores.js';

/** All that an erasure needs. */
export interface ErasureStores extends ErasingStores {
  readonly erasures: ErasureStore;
  readonly latest: LatestScores;
  /** Whether calls of an organisation hold quota. */
  readonly hasCallsInFlight: (organisationId: string) => Promise<boolean>;
  /** Redis's clock, which dates the arrival of calls. */
  readonly redisNowMs: () => Promise<number>;
  /** Maximum duration of a call. */
  readonly leaseMs: number;
  readonly keyPepper: string;
}

/**
 * Erases a lead now. Stores it for the second erasure, unless there is nothing to erase then: the lead is unknown, and
 * no call is in flight.
 * @param named by any form of its crm_id
 * @returns whether anything was stored of the lead
 */
export async function eraseEverywhere(named: Lead, stores: ErasureStores): Promise<boolean> {
  const { erasures, latest, hasCallsInFlight, redisNowMs, leaseMs, keyPepper } = stores;
  const lead = { ...named, crmId: storedCrmId(named.crmId) };
  const { organisationId } = lead;
  const addErasure = async (wasKnown: boolean): Promise<void> => {
    const atMs = await redisNowMs();
    await erasures.add(lead, { hash: leadHash(lead, keyPepper), atMs, dueMs: atMs + leaseMs, wasKnown });
  };
  const isKnown = await isStored(lead, stores);
  const mayReturn = isKnown || (await hasCallsInFlight(organisationId));
  if (mayReturn) await addErasure(isKnown);
  const wasKnown = (await eraseLead(stores, lead)) || isKnown;
  await latest.forgetLead(lead);
  // A call that arrives from now on finds nothing of the lead, so that the second erasure leaves it alone.
  if (mayReturn || wasKnown) await addErasure(wasKnown);
  return wasKnown;
}

const isStored = async ({ organisationId, crmId }: Lead, { predictions, outcomes }: ErasureStores): Promise<boolean> =>
  (await predictions.knows(organisationId, crmId)) || (await outcomes.knows(organisationId, crmId));
