import type { Db } from 'mongodb';
import { usageBuckets } from '../../redis/keys.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { callsCollection, idsOfOrganisation } from '../../store/calls/prediction-segment.js';
import type { LedgerRow } from '../../store/calls/usage-ledger.js';
import { ledgerIndex } from '../../store/calls/usage-rollups.js';
import { withMongoTimeout } from '../../store/connection/connect.js';
import { defineAction } from '../action.js';
import { namesOf } from '../names-of.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { crmInput, crmSchema } from '../schemas/leads.js';

const callsShown = 20;
const timeoutMs = 5_000;

type NewestCall = Pick<LedgerRow, 'at' | 'key' | 'bucket' | 'model' | 'records' | 'request_id'>;

/** Shows whether calls of a CRM arrive. */
export const showCrm = defineAction({
  name: 'crm.show',
  description: 'Read where a CRM sends calls, and the newest calls that arrived and were counted.',
  role: 'viewer',
  effect: 'read',
  input: crmInput,
  output: crmSchema,
  async run({ database, apiUrl }, { org_id: organisationId }) {
    await requireOrganisation(new OrganisationStore(database), organisationId);
    const projection = { _id: 0, at: 1, key: 1, bucket: 1, model: 1, records: 1, request_id: 1 };
    const [times, calls] = await Promise.all([
      callTimes(database, organisationId),
      ordered<NewestCall>(database, organisationId, { newestFirst: true, most: callsShown, projection }),
    ]);
    const newest = calls.sort((one, other) => other.at.getTime() - one.at.getTime()).slice(0, callsShown);
    const names = await namesOf(
      database,
      newest.flatMap(({ key, model }) => [key, model]),
    );
    const named = (member: string, id: string) => (names.has(id) ? { [member]: names.get(id) } : {});
    return {
      api_url: apiUrl,
      ...times,
      calls: newest.map(({ at, key, bucket, model, records, request_id }) => ({
        at: at.toISOString(),
        ...{ key_id: key, bucket, model_id: model, records, request_id },
        ...named('key_name', key),
        ...named('model_name', model),
      })),
    };
  },
});

/** When the first and the last counted call of an organisation came. Reads the index of the ledger alone. */
export async function callTimes(database: Db, organisationId: string) {
  const time = async (newestFirst: boolean): Promise<string | null> => {
    const projection = { _id: 0, at: 1 };
    const found = await ordered<{ at: Date }>(database, organisationId, { newestFirst, most: 1, projection });
    const sorted = found.map(({ at }) => at.getTime()).sort((one, other) => one - other);
    const picked = newestFirst ? sorted.at(-1) : sorted[0];
    return picked === undefined ? null : new Date(picked).toISOString();
  };
  const [first, last] = await Promise.all([time(false), time(true)]);
  return { first_call_at: first, last_call_at: last };
}

/** The first or last calls of each bucket, in the order of the index of the ledger. */
async function ordered<Call>(
  database: Db,
  org: string,
  how: { readonly newestFirst: boolean; readonly most: number; readonly projection: Readonly<Record<string, number>> },
): Promise<Call[]> {
  const { newestFirst, most, projection } = how;
  const direction = newestFirst ? -1 : 1;
  const found = await withMongoTimeout(timeoutMs, (signal) =>
    Promise.all(
      usageBuckets.map((bucket) =>
        database
          .collection<LedgerRow>(callsCollection)
          .find({ _id: idsOfOrganisation(org), org, bucket }, { projection, signal, hint: ledgerIndex })
          .sort({ month: direction, at: direction })
          .limit(most)
          .toArray(),
      ),
    ),
  );
  return found.flat() as Call[];
}
