import type { Db } from 'mongodb';
import { ApiKeyStore } from './api-keys.js';
import { IdempotencyStore } from './idempotency.js';
import { ModelStore } from './models.js';
import { OutcomeStore } from './outcomes.js';
import { PredictionStore } from './predictions.js';
import { UsageLedger } from './usage-ledger.js';
import { ValidationDailyStore } from './validation-daily.js';

/** Creates every collection that needs creating and every index; safe to run again, and from several processes. */
export async function prepareDatabase(database: Db): Promise<void> {
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
