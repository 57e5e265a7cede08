import type { Document } from 'mongodb';
import { outcomeId, type StoredOutcome } from '../../../shared/store/outcomes.js';
import type { LeadRange } from './first-predictions.js';
import { type GradedVersion, inReplies, leadBatches, type Snapshot } from './snapshot.js';

/** What is known of a lead, and since when. */
export type LeadWord = Pick<StoredOutcome, 'crm_id' | 'converted' | 'at' | 'received_at'>;

/** Decoded within milliseconds. */
const wordsAReply = 5_000;

/**
 * What became of some leads, some words at a time, by the index.
 * @throws what MongoDB says
 */
export async function* wordsOnLeads(
  snapshot: Snapshot,
  graded: GradedVersion,
  leads: Iterable<string>,
): AsyncGenerator<readonly LeadWord[]> {
  for (const some of leadBatches(leads))
    yield* words(snapshot, { org: graded.organisationId, crm_id: { $in: some } });
}

/**
 * What became of the leads of a range, some words at a time: a range of the clustered key.
 * @throws what MongoDB says
 */
export const wordsOnRange = (
  snapshot: Snapshot,
  { organisationId }: GradedVersion,
  { from, until }: LeadRange,
): AsyncGenerator<readonly LeadWord[]> => {
  // `;` is the character after `:`, so it ends an organisation's outcomes.
  const end = until === undefined ? `${organisationId};` : outcomeId(organisationId, until);
  return words(snapshot, { _id: { $gte: outcomeId(organisationId, from), $lt: end } });
};

const words = (snapshot: Snapshot, filter: Document): AsyncGenerator<readonly LeadWord[]> =>
  inReplies<LeadWord>(
    snapshot,
    {
      find: 'outcomes',
      filter,
      projection: { _id: 0, crm_id: 1, converted: 1, at: 1, received_at: 1 },
    },
    { first: wordsAReply, most: wordsAReply, records: wordsAReply, recordsOf: () => 1 },
  );
