import type { Redis } from 'ioredis';
import { BSON, type Db, type Document } from 'mongodb';
import type { ReleaseFixture, StoredCollection, StoredKey } from './fixture-file.js';

/** Canonical, so that a whole number does not come back as another BSON type. */
const textOf = (value: Document | readonly Document[]): string => BSON.EJSON.stringify(value, { relaxed: false });
const parsed = (text: string) => BSON.EJSON.parse(text, { relaxed: false });

/**
 * Reads all collections of a database, by name.
 * @throws the driver's error
 */
export async function dumpCollections(database: Db): Promise<StoredCollection[]> {
  const found: StoredCollection[] = [];
  for (const { name, options = {} } of await database.listCollections({}, { nameOnly: false }).toArray()) {
    const collection = database.collection(name);
    const documents = await collection.find({}, { promoteValues: false, sort: { _id: 1 } }).toArray();
    const indexes = await collection.indexes();
    found.push({ name, options: textOf(options), indexes: textOf(indexes), documents: documents.map(textOf) });
  }
  return found.sort((one, other) => (one.name < other.name ? -1 : 1));
}

/**
 * Reads all keys of a Redis, by name.
 * @throws the error of Redis
 */
export async function dumpKeys(redis: Redis): Promise<StoredKey[]> {
  const keys: StoredKey[] = [];
  for (const name of (await redis.keysBuffer('*')).sort(Buffer.compare)) {
    const [value, ttlMs] = await Promise.all([redis.dumpBuffer(name), redis.pttl(name)]);
    // The key may have expired meanwhile.
    if (value === null) continue;
    keys.push({ name: name.toString('base64'), value: value.toString('base64'), ttlMs: Math.max(0, ttlMs) });
  }
  return keys;
}

/**
 * Loads a fixture into an empty database and an empty Redis. MongoDB removes documents that have expired by its own
 * clock within a minute, so set its parameter `ttlMonitorEnabled` to false first.
 * @throws the error of a server, such as that a collection or key exists
 */
export async function loadFixture(
  { collections, keys }: Pick<ReleaseFixture, 'collections' | 'keys'>,
  { database, redis }: { readonly database: Db; readonly redis: Redis },
): Promise<void> {
  for (const { name, options, indexes, documents } of collections) {
    const collection = await database.createCollection(name, parsed(options));
    if (documents.length > 0)
      await collection.insertMany(documents.map(parsed), { bypassDocumentValidation: true, forceServerObjectId: true });
    const others = parsed(indexes).filter(({ key, clustered }: Document) => clustered !== true && !isById(key));
    if (others.length > 0) await collection.createIndexes(others.map(specificationOf));
  }
  for (const { name, value, ttlMs } of keys)
    await redis.restore(Buffer.from(name, 'base64'), ttlMs, Buffer.from(value, 'base64'));
}

/** Every collection has this index from the start. */
const isById = (key: Document): boolean => Object.keys(key).join() === '_id';

/** An index as it is created: without the version of its format, which MongoDB chooses. */
function specificationOf({ v: _, ...specification }: Document) {
  const { key, ...options } = specification;
  return { key, ...options };
}
