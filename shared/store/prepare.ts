import { setTimeout as wait } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { ApiKeyStore } from './api-keys.js';
import { CallDocuments, EarlierForm } from './call-documents.js';
import { IdempotencyStore } from './idempotency.js';
import { ModelStore } from './models.js';
import { OutcomeStore } from './outcomes.js';
import { PredictionStore } from './predictions.js';
import { UsageLedger } from './usage-ledger.js';
import { ValidationDailyStore } from './validation-daily.js';

/** For a replica set to elect a primary, and for a server that was restarted to be back. */
const longestWaitMs = 15_000;
const retryMs = 250;

/**
 * Creates every collection that needs creating and every index; safe to run again, and from several processes. A process
 * must also start while MongoDB restarts or steps down: what fails is tried again for a while.
 * @throws EarlierForm; what MongoDB fails with 15 s after the beginning
 */
export async function prepareDatabase(database: Db): Promise<void> {
  const endMs = performance.now() + longestWaitMs;
  for (;;) {
    try {
      return await prepareOnce(database);
    } catch (error) {
      if (error instanceof EarlierForm || performance.now() > endMs) throw error;
      await wait(retryMs);
    }
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
