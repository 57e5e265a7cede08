import { ErasureStore, eraseLead, erasingStores, type Lead, leadHash } from '../../../shared/store/calls/erasures.js';
import { callsCollection } from '../../../shared/store/calls/prediction-segment.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import type { StoredOutcome } from '../../../shared/store/validation/outcomes.js';
import type { ProgressState } from '../output/progress.js';

const leadsPerBatch = 1_000;

/**
 * Erases the leads of a database that were erased before it was restored from an older backup. Reads all predictions
 * and outcomes, and compares the hashes of their leads by each pepper with those of erased ones. Data since the erasure
 * of a lead stays. Idempotent.
 * @returns the number of leads that were erased
 * @throws errors of MongoDB
 */
export async function eraseRestored(
  database: Db,
  options: { readonly keyPeppers: readonly string[]; readonly onProgress: (state: ProgressState) => void },
): Promise<number> {
  const { keyPeppers, onProgress } = options;
  const erasures = new ErasureStore(database);
  const stores = erasingStores(database);
  const erased = new Set<string>();
  const eraseAmong = async (leads: ReadonlyMap<string, Lead>): Promise<void> => {
    for (const { _id, erased_at: at } of await erasures.among([...leads.keys()])) {
      const lead = leads.get(_id);
      if (lead === undefined) continue;
      const wasScored = await eraseLead(stores, { ...lead, arrivedBy: at });
      if (wasScored) erased.add(_id);
      if (await stores.outcomes.erase(lead.organisationId, lead.crmId, at)) erased.add(_id);
    }
  };
  const stored = await Promise.all(
    [callsCollection, 'outcomes'].map((name) => database.collection(name).estimatedDocumentCount()),
  );
  const total = Math.max(
    1,
    stored.reduce((sum, count) => sum + count, 0),
  );
  let batch = new Map<string, Lead>();
  let done = 0;
  for await (const { org, crmIds } of leadsOf(database)) {
    for (const crmId of crmIds) {
      if (crmId === null) continue;
      const lead = { organisationId: org, crmId };
      for (const pepper of keyPeppers) batch.set(leadHash(lead, pepper), lead);
    }
    done += 1;
    if (batch.size < leadsPerBatch) continue;
    await eraseAmong(batch);
    batch = new Map();
    onProgress({ done, fraction: Math.min(1, done / total) });
  }
  await eraseAmong(batch);
  await stores.idempotency.removeTestReplies();
  return erased.size;
}

/** The leads of each document of the predictions, then of the outcomes. */
async function* leadsOf(
  database: Db,
): AsyncGenerator<{ readonly org: string; readonly crmIds: readonly (string | null)[] }> {
  const segments = database
    .collection(callsCollection)
    .find({ scores: { $exists: true } })
    .project<{ readonly org: string; readonly crm_ids: readonly (string | null)[] }>({ org: 1, crm_ids: 1 });
  for await (const { org, crm_ids: crmIds } of segments) yield { org, crmIds };
  const outcomes = database
    .collection<StoredOutcome>('outcomes')
    .find({})
    .project<StoredOutcome>({ org: 1, crm_id: 1 });
  for await (const { org, crm_id: crmId } of outcomes) yield { org, crmIds: [crmId] };
}
