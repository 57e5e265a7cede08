import type { Db } from 'mongodb';
import { retryAtStart } from '../../async/retry.js';
import { messageOf } from '../../contract/errors.js';
import { ApiKeyStore } from '../accounts/api-keys.js';
import { ErasureStore } from '../calls/erasures.js';
import { IdempotencyStore } from '../calls/idempotency.js';
import { UsageLedger } from '../calls/usage-ledger.js';
import { AuditLog } from '../console/audit-log.js';
import { CallDayStore } from '../console/call-days.js';
import { ConsoleAccess } from '../console/console-access.js';
import { MemberStore } from '../console/members.js';
import { UploadStore } from '../console/uploads.js';
import { SliceStore } from '../jobs/job-slices.js';
import { JobUploadStore } from '../jobs/job-uploads.js';
import { JobStore } from '../jobs/jobs.js';
import { prepareCalls } from '../lead-index/prepare-calls.js';
import { FieldDayStore } from '../models/field-days.js';
import { ModelStore } from '../models/models.js';
import { OutcomeStore } from '../validation/outcomes.js';
import { ValidationDailyStore } from '../validation/validation-daily.js';
import { ChangeLog } from './change-log.js';
import { missingRights } from './connect.js';

/**
 * Creates the clustered collections and all indexes. Idempotent, also when several processes run it at once.
 * @throws Error that names the missing right, or the last error after 15 s of retries
 */
export async function prepareDatabase(database: Db): Promise<void> {
  try {
    await retryAtStart(() => prepareOnce(database), {
      isFinal: (error) => missingRights(error) !== undefined,
    });
  } catch (error) {
    const reason = missingRights(error) ?? `MongoDB collections and indexes could not be created: ${messageOf(error)}`;
    throw new Error(reason, { cause: error });
  }
}

async function prepareOnce(database: Db): Promise<void> {
  await prepareCalls(database);
  await Promise.all([
    new ChangeLog(database).prepare(),
    new ApiKeyStore(database).prepare(),
    new ModelStore(database).prepare(),
    new FieldDayStore(database).prepare(),
    new UsageLedger(database).prepare(),
    new ErasureStore(database).prepare(),
    new IdempotencyStore(database).prepare(),
    new OutcomeStore(database).prepare(),
    new ValidationDailyStore(database).prepare(),
    new AuditLog(database).prepare(),
    new UploadStore(database).prepare(),
    new CallDayStore(database).prepare(),
    new ConsoleAccess(database).prepare(),
    new MemberStore(database).prepare(),
    new JobStore(database).prepare(),
    new SliceStore(database).prepare(),
    new JobUploadStore(database).prepare(),
  ]);
}
