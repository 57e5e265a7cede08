import type { Document } from 'mongodb';
import type { Db } from '../../../shared/store/connection/connect.js';
import type { JsonLines } from './archive-file.js';

/** A collection of which an export has the documents of one organisation. */
interface Exported {
  /** Members of the archive have this name. */
  readonly name: string;
  readonly collection: string;
  /** By an index: a filter of the organisation, or its range of ids. */
  readonly of: (organisationId: string) => Document;
  /** Members that are left out: hashes, ids of other systems, and marks for the service alone. */
  readonly without?: readonly string[];
}

const byOrg = (org: string): Document => ({ org });
const byOrganisation = (organisation_id: string): Document => ({ organisation_id });
/** Ids that begin with the organisation and a colon. In ASCII a semicolon follows the colon. */
const byId = (organisationId: string): Document => ({
  _id: { $gte: `${organisationId}:`, $lt: `${organisationId};` },
  org: organisationId,
});

/**
 * The collections of an export besides calls. Left out are replies to calls, sessions, links and the hashes of
 * erased leads. So are the files of bulk jobs and uploads, which expire within days.
 */
export const exportedCollections: readonly Exported[] = [
  { name: 'organisation', collection: 'orgs', of: (organisationId) => ({ _id: organisationId }) },
  {
    name: 'keys',
    collection: 'api_keys',
    of: byOrganisation,
    without: ['hash', 'previous_hash', 'pepper_fingerprint'],
  },
  { name: 'members', collection: 'console_members', of: byOrg, without: ['account'] },
  { name: 'models', collection: 'models', of: byOrganisation },
  { name: 'model-versions', collection: 'model_versions', of: byOrganisation, without: ['manifest', 'files'] },
  { name: 'verdicts', collection: 'model_validation', of: byOrganisation },
  { name: 'graded-days', collection: 'validation_daily', of: byOrg },
  { name: 'outcomes', collection: 'outcomes', of: byOrg },
  { name: 'jobs', collection: 'jobs', of: byOrg, without: ['idempotency', 'fingerprint'] },
  { name: 'usage-by-day', collection: 'usage_daily', of: byId },
  { name: 'calls-by-day', collection: 'call_days', of: byOrg },
  { name: 'fields-by-day', collection: 'field_days', of: byOrg },
  { name: 'audit-log', collection: 'audit_log', of: byOrg },
];

/** Writes the documents of a collection as they are stored, with `id` in place of `_id`. */
export async function exportCollection(
  database: Db,
  { collection, of, without = [] }: Exported,
  { organisationId, lines }: { readonly organisationId: string; readonly lines: JsonLines },
): Promise<void> {
  const projection = Object.fromEntries(without.map((member) => [member, 0]));
  const found = database.collection(collection).find(of(organisationId), { projection });
  for await (const { _id: id, ...document } of found) await lines.add({ id, ...document });
  await lines.flush();
}
