import type { Db, ObjectId } from 'mongodb';
import { idsOfOrganisation as idsOfJobs } from '../jobs/job-documents.js';

/** The id of a document, of any collection. */
export type DocumentId = string | number | ObjectId;

/** Ids by which data of an organisation is found that does not name the organisation itself. */
export interface OwnIds {
  readonly jobs: readonly string[];
  readonly models: readonly string[];
  readonly uploads: readonly string[];
  /** Hashes of keys, under which they are cached. */
  readonly keys: readonly string[];
}

/**
 * The ids that an organisation has now. They are noted before their documents are removed.
 * @throws errors of MongoDB
 */
export async function ownIds(database: Db, organisationId: string): Promise<OwnIds> {
  const own = { organisation_id: organisationId };
  const of = async (name: string, filter: object, ...members: readonly string[]): Promise<string[]> => {
    const projection = Object.fromEntries(members.map((member) => [member, 1]));
    const found = await database.collection(name).find(filter, { projection }).toArray();
    return found.flatMap((document) => members.flatMap((member) => document[member] ?? [])).map(String);
  };
  const [jobs, models, versions, uploads, keys] = await Promise.all([
    of('jobs', { _id: idsOfJobs(organisationId), org: organisationId }, '_id'),
    of('models', own, '_id'),
    of('model_versions', own, 'model_id'),
    of('console_uploads', { org: organisationId }, '_id'),
    of('api_keys', own, 'hash', 'previous_hash'),
  ]);
  return { jobs, models: [...new Set([...models, ...versions])], uploads, keys };
}
