import type { MongoClient } from 'mongodb';
import { inTransaction } from '../connection/transaction.js';
import type { IdempotencyStore } from './idempotency.js';
import { CallIsFinal, type UsageLedger } from './usage-ledger.js';

const timeoutMs = 5_000;

/**
 * Voids a call in MongoDB: it counts nowhere, now or later. Removes its predictions and its stored reply. Idempotent.
 * @returns false when the stored reply was already replayed to a caller, or the call is older than 13 h. The call then
 * stays counted, unchanged
 * @throws MongoDB's error
 */
export async function voidCall(
  callId: string,
  stores: {
    readonly client: MongoClient;
    readonly ledger: Pick<UsageLedger, 'voidCall'>;
    readonly idempotency: Pick<IdempotencyStore, 'removeCall'>;
  },
): Promise<boolean> {
  const { client, ledger, idempotency } = stores;
  let isVoid = false;
  await inTransaction(
    client,
    async (options) => {
      isVoid = await idempotency.removeCall(callId, options);
      if (isVoid) await ledger.voidCall(callId, options);
    },
    { timeoutMs },
  ).catch((error: unknown) => {
    if (!(error instanceof CallIsFinal)) throw error;
    isVoid = false;
  });
  return isVoid;
}
