import { setTimeout as wait } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { messageOf } from '../errors.js';
import { ApiKeyStore } from './api-keys.js';
import { CallDocuments, EarlierForm } from './call-documents.js';
import { IdempotencyStore } from './idempotency.js';
import { missingRights } from './missing-rights.js';
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
 * @throws EarlierForm; Error saying what MongoDB fails with 15 s after the beginning, or which right this user lacks
 */
export async function prepareDatabase(database: Db): Promise<void> {
  const endMs = performance.now() + longestWaitMs;
  for (;;) {
    try {
      return await prepareOnce(database);
    } catch (error) {
      if (error instanceof EarlierForm) throw error;
      const missing = missingRights(error);
      if (missing !== undefined) throw new Error(missing, { cause: error });
      if (performance.now() > endMs)
        throw new Error(`MongoDB could not be prepared: ${messageOf(error)}`, { cause: error });
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
