import type { Db } from 'mongodb';

/** The collections with the names of objects, by the beginning of their ids, and the member with the name. */
const named = [
  ['key_', 'api_keys', 'name'],
  ['mdl_', 'models', 'name'],
  ['mbr_', 'console_members', 'email'],
  ['job_', 'jobs', 'options.name'],
] as const;

/**
 * The names of keys, models, members and files of jobs by id, also of revoked keys and deleted models.
 * @param ids of any objects of one organisation
 */
export async function namesOf(database: Db, ids: Iterable<string>): Promise<ReadonlyMap<string, string>> {
  const unique = [...new Set(ids)];
  const found = await Promise.all(
    named.map(async ([prefix, collection, member]) => {
      const own = unique.filter((id) => id.startsWith(prefix));
      if (own.length === 0) return [];
      const documents = database.collection<{ readonly _id: string }>(collection);
      const name = { name: `$${member}` };
      const some = documents
        .find({ _id: { $in: own } })
        .project<{ readonly _id: string; readonly name?: string }>(name);
      return (await some.toArray()).flatMap(({ _id: id, name }) => (name === undefined ? [] : [[id, name] as const]));
    }),
  );
  return new Map(found.flat());
}
