import type { Db } from 'mongodb';
import { randomBase62 } from '../identifiers.js';
import { inTime } from './in-time.js';

interface StoredInstallation {
  readonly _id: 'installation';
  readonly id: string;
}

const timeoutMs = 5_000;

/**
 * What tells this database from every other: made when it is asked for first, and kept with it, also in a backup.
 * @throws what MongoDB says, within five seconds
 */
export async function installationId(database: Db): Promise<string> {
  const stored = await inTime(timeoutMs, () =>
    database
      .collection<StoredInstallation>('settings')
      .findOneAndUpdate(
        { _id: 'installation' },
        { $setOnInsert: { id: randomBase62(16) } },
        { upsert: true, returnDocument: 'after', writeConcern: { w: 'majority' } },
      ),
  );
  if (stored === null) throw new Error('the database has no id');
  return stored.id;
}
