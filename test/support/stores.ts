import type { Collection, Db } from 'mongodb';
import { ApiKeyStore } from '../../shared/store/api-keys.js';
import type { CallDocument } from '../../shared/store/call-documents.js';
import { callsCollection } from '../../shared/store/calls-collection.js';
import { IdempotencyStore, type IdempotentReply } from '../../shared/store/idempotency.js';
import { ValidationStore } from '../../shared/store/model-validation.js';
import { ModelStore } from '../../shared/store/models.js';
import { OrganisationStore } from '../../shared/store/organisations.js';
import type { PredictionSlice } from '../../shared/store/prediction-slice.js';
import { type LedgerRow, UsageLedger } from '../../shared/store/usage-ledger.js';

/** The product's own stores on a service's database, and the collections that tests read as they are. */
export interface Stores {
  readonly database: Db;
  readonly organisations: OrganisationStore;
  readonly keys: ApiKeyStore;
  readonly models: ModelStore;
  readonly validation: ValidationStore;
  readonly ledger: UsageLedger;
  readonly idempotency: IdempotencyStore;
  readonly ledgerRows: Collection<LedgerRow>;
  readonly predictions: Collection<PredictionSlice>;
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
    predictions: database.collection<PredictionSlice>(callsCollection),
    calls: database.collection<CallDocument>(callsCollection),
    replies: database.collection<IdempotentReply>('idempotency'),
  };
}
