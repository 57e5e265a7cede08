import { type CallDocument, callDocuments } from '../../shared/store/call-documents.js';
import { slicesOf } from '../../shared/store/prediction-slice.js';
import type { LedgerRow } from '../../shared/store/usage-ledger.js';

type CallOfTest = Pick<LedgerRow, '_id' | 'org' | 'bucket' | 'month' | 'records' | 'at'>;

/** The documents of a call that scored the same lead again and again. */
export function documentsOfCall(call: CallOfTest): CallDocument[] {
  const { _id, org, at, records } = call;
  const scored = { org, model: 'mdl', version: '1', at };
  const column = <Value>(value: Value) => Array.from({ length: records }, () => value);
  const columns = { crmIds: column('L'), scores: column(50), likelihoods: column(1), fields: column('[]') };
  const row = { ...call, ...scored, request_id: _id, key: 'key' };
  return callDocuments(row, slicesOf({ ...scored, ...columns, callId: _id }));
}
