import type { Document } from 'mongodb';
import { outcomeId, outcomeIndex, type StoredOutcome } from '../../../shared/store/validation/outcomes.js';
import type { LeadRange } from './first-predictions.js';
import { type GradedVersion, leadBatches, readInBatches, type Snapshot } from './snapshot.js';

/** The known outcome of a lead. */
export type LeadOutcome = Pick<StoredOutcome, 'crm_id' | 'converted' | 'at' | 'received_at'>;

/** Decoded in a few milliseconds. */
const outcomesPerBatch = 5_000;

/**
 * Reads the outcomes of given leads through the index, in batches.
 * @throws MongoDB errors
 */
export async function* outcomesOfLeads(
  snapshot: Snapshot,
  graded: GradedVersion,
  leads: Iterable<string>,
): AsyncGenerator<readonly LeadOutcome[]> {
  for (const batch of leadBatches(leads))
    yield* readOutcomes(snapshot, { org: graded.organisationId, crm_id: { $in: batch } }, outcomeIndex);
}

/**
 * Reads the outcomes of a range of leads as a range of the clustered key, in batches.
 * @throws MongoDB errors
 */
export const outcomesOfRange = (
  snapshot: Snapshot,
  { organisationId }: GradedVersion,
  { from, until }: LeadRange,
): AsyncGenerator<readonly LeadOutcome[]> => {
  // `;` follows `:` in ASCII, so it is the upper bound of an organisation's ids.
  const end = until === undefined ? `${organisationId};` : outcomeId(organisationId, until);
  const ids = { $gte: outcomeId(organisationId, from), $lt: end };
  return readOutcomes(snapshot, { _id: ids, org: organisationId }, { _id: 1 });
};

const readOutcomes = (snapshot: Snapshot, filter: Document, hint: Document): AsyncGenerator<readonly LeadOutcome[]> =>
  readInBatches<LeadOutcome>(
    snapshot,
    {
      find: 'outcomes',
      filter,
      hint,
      projection: { _id: 0, crm_id: 1, converted: 1, at: 1, received_at: 1 },
    },
    { first: outcomesPerBatch, max: outcomesPerBatch, records: outcomesPerBatch, recordsOf: () => 1 },
  );
