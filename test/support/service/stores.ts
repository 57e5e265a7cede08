import type { Collection, Db } from 'mongodb';
import { ApiKeyStore } from '../../../shared/store/accounts/api-keys.js';
import { OrganisationStore } from '../../../shared/store/accounts/organisations.js';
import type { CallDocument } from '../../../shared/store/calls/call-documents.js';
import { IdempotencyStore, type IdempotentReply } from '../../../shared/store/calls/idempotency.js';
import { callsCollection, type PredictionSegment } from '../../../shared/store/calls/prediction-segment.js';
import { type LedgerRow, UsageLedger } from '../../../shared/store/calls/usage-ledger.js';
import { ModelStore } from '../../../shared/store/models/models.js';
import { ValidationStore } from '../../../shared/store/validation/model-validation.js';

/** The product's stores on a service's database, and raw collections for tests. */
export interface Stores {
  readonly database: Db;
  readonly organisations: OrganisationStore;
  readonly keys: ApiKeyStore;
  readonly models: ModelStore;
  readonly validation: ValidationStore;
  readonly ledger: UsageLedger;
  readonly idempotency: IdempotencyStore;
  readonly ledgerRows: Collection<LedgerRow>;
  readonly predictions: Collection<PredictionSegment>;
  /** The same collection, to write to. */
  readonly calls: Collection<CallDocument>;
  readonly replies: Collection<IdempotentReply>;
}

/** The stores on a database. */
export function storesOn(database: Db): Stores {
  return {
    database,
    organisations: new OrganisationStore(database),
    keys: new ApiKeyStore(database),
    models: new ModelStore(database),
    validation: new ValidationStore(database),
    ledger: new UsageLedger(database),
    idempotency: new IdempotencyStore(database),
    ledgerRows: database.collection<LedgerRow>(callsCollection),
    predictions: database.collection<PredictionSegment>(callsCollection),
    calls: database.collection<CallDocument>(callsCollection),
    replies: database.collection<IdempotentReply>('idempotency'),
  };
}
