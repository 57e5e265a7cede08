import type { Db } from 'mongodb';
import type { ApiKey } from '../../store/accounts/api-keys.js';
import { callsCollection, idsOfOrganisation } from '../../store/calls/prediction-segment.js';
import type { LedgerRow } from '../../store/calls/usage-ledger.js';
import { withMongoTimeout } from '../../store/connection/connect.js';
import type { StoredOutcome } from '../../store/validation/outcomes.js';

/** The id of the key under which the ledger counts the calls of the playground. */
export const playgroundKeyId = 'key_playground';

const timeoutMs = 5_000;

/**
 * Which first steps an organisation has done: a model, a key, a counted call of its own, outcomes. Each read ends at
 * the first document. Calls of the playground do not count, and a month has at most a thousand.
 */
export async function firstRun(
  database: Db,
  org: string,
  of: { readonly hasModel: boolean; readonly hasCall: boolean },
) {
  const projection = { _id: 1 } as const;
  const [key, call, outcome] = await withMongoTimeout(timeoutMs, (signal) => {
    const own = { _id: idsOfOrganisation(org), org, key: { $ne: playgroundKeyId } };
    const hint = { _id: 1 } as const;
    return Promise.all([
      database.collection<ApiKey>('api_keys').findOne({ organisation_id: org }, { projection, signal }),
      of.hasCall ? database.collection<LedgerRow>(callsCollection).findOne(own, { projection, hint, signal }) : null,
      database.collection<StoredOutcome>('outcomes').findOne({ org }, { projection, signal }),
    ]);
  });
  return { model: of.hasModel, key: key !== null, call: call !== null, outcomes: outcome !== null };
}
