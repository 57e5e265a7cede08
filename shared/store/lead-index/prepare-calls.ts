import { type Db, MongoServerError } from 'mongodb';
import { callsCollection } from '../calls/prediction-segment.js';
import { createUnlessExists } from '../connection/connect.js';
import { indexByNumber, indexByText, type LeadIndex, leadIndexStep, noteNumbers } from './lead-index.js';

/**
 * Leads arrive in random order, so each index entry dirties another page. Small pages halve the cost of writing them
 * back once the index exceeds the dirty limit of WiredTiger (a twentieth of its cache).
 */
const smallPages = { storageEngine: { wiredTiger: { configString: 'leaf_page_max=4KB' } } };

/**
 * Each segment has the number of its organisation. An older gateway, which writes none, then fails: the lead index
 * would lack its scores. Segments that have none yet may still be erased.
 */
export const numberedSegments = {
  validator: { $or: [{ crm_ids: { $exists: false } }, { o: { $type: 'int' } }] },
  validationLevel: 'moderate',
} as const;

/**
 * Creates the collection of calls and the index of leads. An existing collection, and an existing index, stay
 * unchanged: `leadscore lead-index` changes them.
 *
 * A new collection is not clustered: each entry of the lead index would contain the clustered key, of 31 bytes.
 * @throws the driver's error
 */
export async function prepareCalls(database: Db): Promise<void> {
  const settings = leadIndexStep(database);
  const stored = await settings.findOne({ _id: 'lead_index' });
  if (stored !== null) {
    await createLeadIndex(database, stored.step === 'complete' ? indexByNumber : indexByText);
    return;
  }
  await createUnlessExists(database, callsCollection, numberedSegments);
  // Only a collection that was created with it has the rule before the first step: none of its segments lacks a number.
  const [found] = await database.listCollections({ name: callsCollection }, { nameOnly: false }).toArray();
  const index = found?.options?.validator === undefined ? indexByText : indexByNumber;
  await createLeadIndex(database, index);
  if (index === indexByText) return;
  const complete = { $setOnInsert: { step: 'complete' as const } };
  const options = { upsert: true, returnDocument: 'after', writeConcern: { w: 'majority' } } as const;
  const now = await settings.findOneAndUpdate({ _id: 'lead_index' }, complete, options);
  // The command may have begun meanwhile, and have set the rule.
  if (now?.step === 'complete') noteNumbers(database);
}

/** Creates a lead index; an existing one stays unchanged. */
export async function createLeadIndex(database: Db, { key }: LeadIndex): Promise<void> {
  const calls = database.collection(callsCollection);
  await calls.createIndex(key, smallPages).catch(async (error: unknown) => {
    if (!(error instanceof MongoServerError)) throw error;
    // The index exists with the default page size, or the storage engine does not know the setting.
    await calls.createIndex(key);
  });
}
