import { leadIndex } from '../../shared/store/predictions.js';
import type { Leads } from './classify-leads.js';
import type { GradedVersion, Snapshot } from './graded-version.js';

/** Predictions of one range: their leads, and what became of them, fit into memory in one group. */
const rangePredictions = 100_000;
/** No crm_id holds a NUL: a text with one more lies right behind the text itself. */
const nul = '\0';

/**
 * Cuts an organisation's leads into ranges of crm_ids of about as many predictions each, by the index alone. The ranges
 * cover every crm_id there may be.
 */
export async function* leadRanges(
  { database, session }: Snapshot,
  { organisationId }: GradedVersion,
): AsyncGenerator<Leads> {
  let from = '';
  for (;;) {
    const [next] = await database
      .collection<{ _id: string; crm_id: string }>('predictions')
      .find(
        { org: organisationId, crm_id: { $gte: from } },
        { projection: { _id: 0, crm_id: 1 }, session, hint: leadIndex },
      )
      .sort({ crm_id: 1 })
      .skip(rangePredictions)
      .limit(1)
      .toArray();
    // A lead with more predictions than a range has is a range by itself.
    const until = next?.crm_id === from ? `${from}${nul}` : next?.crm_id;
    yield { from, until };
    if (until === undefined) return;
    from = until;
  }
}
