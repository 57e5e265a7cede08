import type { Db } from 'mongodb';
import { idsOfOrganisation as idsOfJobs } from '../jobs/job-documents.js';

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
  const of = async (name: string, filter: object, member = '_id'): Promise<string[]> => {
    const found = database.collection(name).find(filter, { projection: { [member]: 1 } });
    return (await found.toArray()).map((document) => String(document[member]));
  };
  const [jobs, models, versions, uploads, keys] = await Promise.all([
    of('jobs', { _id: idsOfJobs(organisationId), org: organisationId }),
    of('models', own),
    of('model_versions', own, 'model_id'),
    of('console_uploads', { org: organisationId }),
    of('api_keys', own, 'hash'),
  ]);
  return { jobs, models: [...new Set([...models, ...versions])], uploads, keys };
}
