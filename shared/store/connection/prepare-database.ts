import type { Db } from 'mongodb';
import { retryAtStart, UnusableServer } from '../../async/retry.js';
import { messageOf } from '../../contract/errors.js';
import { migrateSchema } from '../schema/migrate-schema.js';
import { certainState, requireUsable } from '../schema/schema-state.js';
import { missingRights } from './connect.js';

/**
 * Makes a database ready for this release. An empty one gets its collections and indexes. Any other must have the
 * schema number that this release needs. Several processes may start at once.
 * @throws UnusableServer when this release cannot use the database, with the remedy
 * @throws Error that names the missing right, or the last error after 15 s of retries
 */
export async function prepareDatabase(database: Db): Promise<void> {
  await withRights(() => retryAtStart(() => prepareOnce(database), { isFinal: isMissingRight }));
}

async function prepareOnce(database: Db): Promise<void> {
  const state = await certainState(database);
  if (state === 'empty' || state?.is_new === true) await migrateSchema(database, { isNew: true });
  else requireUsable(state);
}

export const isMissingRight = (error: unknown): boolean => missingRights(error) !== undefined;

/**
 * Runs work that writes to MongoDB as a process starts.
 * @throws Error that names the missing right; UnusableServer; else an error that names the work
 */
export async function withRights<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UnusableServer) throw error;
    const reason = missingRights(error) ?? `MongoDB could not be made ready: ${messageOf(error)}`;
    throw new Error(reason, { cause: error });
  }
}
