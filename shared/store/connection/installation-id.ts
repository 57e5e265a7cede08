import type { Db } from 'mongodb';
import { randomBase62 } from '../../contract/identifiers.js';
import { withMongoTimeout } from './connect.js';

interface StoredInstallation {
  readonly _id: 'installation';
  readonly id: string;
}

const timeoutMs = 5_000;

/**
 * A random id of this database, which a backup keeps. The first caller creates it.
 * @throws the driver's error, or MongoTimeout after five seconds
 */
export async function installationId(database: Db): Promise<string> {
  const stored = await withMongoTimeout(timeoutMs, () =>
    database
      .collection<StoredInstallation>('settings')
      .findOneAndUpdate(
        { _id: 'installation' },
        { $setOnInsert: { id: randomBase62(16) } },
        { upsert: true, returnDocument: 'after', writeConcern: { w: 'majority' } },
      ),
  );
  if (stored === null) throw new Error('MongoDB returned no installation id after creating it');
  return stored.id;
}

/**
 * The id of this database; undefined before the first process has started on it.
 * @throws as `installationId`
 */
export async function storedInstallationId(database: Db): Promise<string | undefined> {
  const stored = await withMongoTimeout(timeoutMs, (signal) =>
    database.collection<StoredInstallation>('settings').findOne({ _id: 'installation' }, { signal }),
  );
  return stored?.id;
}
