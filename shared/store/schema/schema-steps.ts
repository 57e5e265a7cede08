import type { Db } from 'mongodb';
import { ApiKeyStore } from '../accounts/api-keys.js';
import { ErasureStore } from '../calls/erasures.js';
import { IdempotencyStore } from '../calls/idempotency.js';
import { UsageLedger } from '../calls/usage-ledger.js';
import { ChangeLog } from '../connection/change-log.js';
import { AuditLog } from '../console/audit-log.js';
import { CallDayStore } from '../console/call-days.js';
import { ConsoleAccess } from '../console/console-access.js';
import { MemberStore } from '../console/members.js';
import { UploadStore } from '../console/uploads.js';
import { SliceStore } from '../jobs/job-slices.js';
import { JobUploadStore } from '../jobs/job-uploads.js';
import { JobStore } from '../jobs/jobs.js';
import { prepareCalls } from '../lead-index/prepare-calls.js';
import { CandidateScoreStore } from '../models/candidate-scores.js';
import { FieldDayStore } from '../models/field-days.js';
import { ModelStore } from '../models/models.js';
import { DeletionStore } from '../organisations/deletions.js';
import { OutcomeStore } from '../validation/outcomes.js';
import { ValidationDailyStore } from '../validation/validation-daily.js';

/** One change of the database that a release needs. The release before can still use the database after it. */
export interface SchemaStep {
  /** Its place in the order, from 1. The last one is `ownLevel`. */
  readonly level: number;
  /** Stands after "Step 1 of 2:". */
  readonly name: string;
  /** Collections that it may read whole, for example to build an index. */
  readonly reads: readonly string[];
  /** Idempotent, also after it was killed, and when two runs overlap. */
  readonly run: (database: Db) => Promise<void>;
}

/** All steps in their order. A released step stays as it is: a later change of the database is another step. */
export const schemaSteps: readonly SchemaStep[] = [
  {
    level: 1,
    name: 'the collections and indexes of 0.1.0',
    reads: ['calls', 'candidate_scores', 'erasures', 'idempotency', 'outcomes', 'validation_daily'],
    run: async (database) => {
      await prepareCalls(database);
      await Promise.all([
        new ChangeLog(database).prepare(),
        new ApiKeyStore(database).prepare(),
        new ModelStore(database).prepare(),
        new FieldDayStore(database).prepare(),
        new CandidateScoreStore(database).prepare(),
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
    },
  },
  {
    level: 2,
    name: 'the hashes of keys with a previous pepper',
    reads: ['api_keys'],
    run: (database) => new ApiKeyStore(database).preparePrevious(),
  },
  {
    level: 3,
    name: 'deletions of organisations, and models whose stored leads are scored again',
    reads: ['models'],
    run: async (database) => {
      await Promise.all([new DeletionStore(database).prepare(), new ModelStore(database).prepareRescoring()]);
    },
  },
];
