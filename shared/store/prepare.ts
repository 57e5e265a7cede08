import type { Db } from 'mongodb';
import { messageOf } from '../errors.js';
import { startStep } from '../start-step.js';
import { ApiKeyStore } from './api-keys.js';
import { CallDocuments, EarlierForm } from './call-documents.js';
import { IdempotencyStore } from './idempotency.js';
import { missingRights } from './missing-rights.js';
import { ModelStore } from './models.js';
import { OutcomeStore } from './outcomes.js';
import { PredictionStore } from './predictions.js';
import { UsageLedger } from './usage-ledger.js';
import { ValidationDailyStore } from './validation-daily.js';

/**
 * Creates every collection that needs creating and every index; safe to run again, and from several processes.
 * @throws EarlierForm; Error saying which right this user lacks, or what MongoDB fails with for 15 s
 */
export async function prepareDatabase(database: Db): Promise<void> {
  try {
    await startStep(() => prepareOnce(database), { isFinal: (error) => missingRights(error) !== undefined });
  } catch (error) {
    if (error instanceof EarlierForm) throw error;
    const reason = missingRights(error) ?? `MongoDB could not be prepared: ${messageOf(error)}`;
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
