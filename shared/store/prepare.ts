import type { Db } from 'mongodb';
import { messageOf } from '../errors.js';
import { startStep, Unfit } from '../start-step.js';
import { ApiKeyStore } from './api-keys.js';
import { CallDocuments } from './call-documents.js';
import { IdempotencyStore } from './idempotency.js';
import { missingRights } from './missing-rights.js';
import { ModelStore } from './models.js';
import { OutcomeStore } from './outcomes.js';
import { PredictionStore } from './predictions.js';
import { UsageLedger } from './usage-ledger.js';
import { ValidationDailyStore } from './validation-daily.js';

/**
 * Creates every collection that needs creating and every index; safe to run again, and from several processes.
 * @throws EarlierForm; Unfit saying which right this user lacks; Error saying what MongoDB fails with for 15 s
 */
export async function prepareDatabase(database: Db): Promise<void> {
  try {
    await startStep(() => prepareOnce(database));
  } catch (error) {
    if (error instanceof Unfit) throw error;
    throw new Error(`MongoDB could not be prepared: ${messageOf(error)}`, { cause: error });
  }
}

async function prepareOnce(database: Db): Promise<void> {
  try {
    await createAll(database);
  } catch (error) {
    const missing = missingRights(error);
    throw missing === undefined ? error : new Unfit(missing, { cause: error });
  }
}

async function createAll(database: Db): Promise<void> {
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
