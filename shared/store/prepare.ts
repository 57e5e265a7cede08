import type { Db } from 'mongodb';
import { messageOf } from '../errors.js';
import { startStep } from '../start-step.js';
import { ApiKeyStore } from './api-keys.js';
import { CallDocuments, PreReleaseDatabase } from './call-documents.js';
import { IdempotencyStore } from './idempotency.js';
import { missingRights } from './in-time.js';
import { ModelStore } from './models.js';
import { OutcomeStore } from './outcomes.js';
import { PredictionStore } from './predictions.js';
import { UsageLedger } from './usage-ledger.js';
import { ValidationDailyStore } from './validation-daily.js';

/**
 * Creates the clustered collections and all indexes. Idempotent, also when several processes run it at once.
 * @throws PreReleaseDatabase; Error that names the missing right, or the last error after 15 s of retries
 */
export async function prepareDatabase(database: Db): Promise<void> {
  try {
    await startStep(() => prepareOnce(database), { isFinal: (error) => missingRights(error) !== undefined });
  } catch (error) {
    if (error instanceof PreReleaseDatabase) throw error;
    const reason =
      missingRights(error) ?? `MongoDB collections and indexes could not be created: ${messageOf(error)}`;
    throw new Error(reason, { cause: error });
  }
}

async function prepareOnce(database: Db): Promise<void> {
  await new CallDocuments(database).prepare();
  await Promise.all([
    new ApiKeyStore(database).prepare(),
    new ModelStore(database).prepare(),
    new PredictionStore(database).prepare(),
    new UsageLedger(database).prepare(),
    new IdempotencyStore(database).prepare(),
    new OutcomeStore(database).prepare(),
    new ValidationDailyStore(database).prepare(),
  ]);
}
