import type { MongoClient } from 'mongodb';
import { inTransaction } from '../connection/transaction.js';
import type { SliceStore } from '../jobs/job-slices.js';
import type { IdempotencyStore, RecordedCall } from './idempotency.js';
import { CallIsFinal, type UsageLedger } from './usage-ledger.js';

const timeoutMs = 5_000;

/**
 * Voids a call in MongoDB: it counts nowhere, now or later. Removes its predictions and its stored reply, and opens its
 * slice of a bulk job again. Idempotent.
 * @returns false when the call has to stay counted, unchanged. Then its stored reply was already replayed to a caller,
 * the results of its slice are shown, or it is older than 13 h
 * @throws MongoDB's error
 */
export async function voidCall(
  call: RecordedCall,
  stores: {
    readonly client: MongoClient;
    readonly ledger: Pick<UsageLedger, 'voidCall'>;
    readonly idempotency: Pick<IdempotencyStore, 'removeCall'>;
    readonly slices: Pick<SliceStore, 'reopen'>;
  },
): Promise<boolean> {
  const { client, ledger, idempotency, slices } = stores;
  let isVoid = false;
  await inTransaction(
    client,
    async (options) => {
      isVoid = await idempotency.removeCall(call, options);
      if (!isVoid) return;
      if (!(await slices.reopen(call, options))) throw new CallIsFinal('the results of the call are shown');
      await ledger.voidCall(call.callId, options);
    },
    { timeoutMs },
  ).catch((error: unknown) => {
    if (!(error instanceof CallIsFinal)) throw error;
    isVoid = false;
  });
  return isVoid;
}
