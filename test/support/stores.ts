import type { Collection, Db } from 'mongodb';
import { ApiKeyStore } from '../../shared/store/api-keys.js';
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
    ledgerRows: database.collection<LedgerRow>('usage_ledger'),
    predictions: database.collection<PredictionSlice>('predictions'),
    replies: database.collection<IdempotentReply>('idempotency'),
  };
}
