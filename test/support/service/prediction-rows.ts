import type { Db } from 'mongodb';
import { type CallDocument, callDocuments } from '../../../shared/store/calls/call-documents.js';
import {
  bandOf,
  callIdOf,
  callsCollection,
  type PredictionSegment,
  predictionId,
  rowOf,
  segmentsOf,
} from '../../../shared/store/calls/prediction-segment.js';
import { PredictionStore } from '../../../shared/store/calls/predictions.js';
import type { LedgerRow } from '../../../shared/store/calls/usage-ledger.js';

/** Removes the predictions of an organisation. The ledger rows stay. */
export async function removePredictions(database: Db, organisationId: string): Promise<void> {
  const stored = await database
    .collection<{ readonly _id: string }>(callsCollection)
    .find({ org: organisationId, scores: { $exists: true } })
    .toArray();
  await new PredictionStore(database).remove(stored.map(({ _id }) => _id));
}

type CallOfTest = Pick<LedgerRow, '_id' | 'org' | 'bucket' | 'month' | 'records' | 'at'> &
  Partial<Pick<LedgerRow, 'model' | 'version'>>;

/** The documents of a call whose records are all the same lead, unless their leads are given. */
export function documentsOfCall(call: CallOfTest, leads?: readonly string[]): CallDocument[] {
  const { _id, org, model = 'mdl', version = '1', at, records } = call;
  const scored = { org, model, version, at };
  const column = <Value>(value: Value) => Array.from({ length: records }, () => value);
  const columns = { crmIds: leads ?? column('L'), scores: column(50), likelihoods: column(1), fields: column('[]') };
  const row = { ...call, ...scored, request_id: _id, key: 'key' };
  return callDocuments(row, segmentsOf({ ...scored, ...columns, callId: _id }));
}

/** One prediction of a stored document. */
export interface PredictionRow {
  readonly _id: string;
  readonly org: string;
  readonly model: string;
  readonly version: string;
  readonly at: Date;
  readonly score: number;
  readonly likelihood: number;
  readonly band: number;
  /** Absent when the record had none, or was erased. */
  readonly crm_id?: string;
  /** Absent when the record was erased. */
  readonly fields?: string;
}

/**
 * The predictions of a stored document, one by one.
 * @throws Error when its columns are not equally long
 */
export function predictionRows(segment: PredictionSegment): PredictionRow[] {
  const { _id, org, model, version, at } = segment;
  const lengths = [segment.crm_ids, segment.scores, segment.likelihoods, segment.fields].map(({ length }) => length);
  if (new Set(lengths).size !== 1) throw new Error(`the columns of ${_id} have ${lengths} entries`);
  return segment.scores.map((score, index) => {
    const [crmId, fields] = [segment.crm_ids[index], segment.fields[index]];
    return {
      _id: predictionId(callIdOf(_id), rowOf(_id) + index),
      ...{ org, model, version, at, score },
      likelihood: segment.likelihoods[index] ?? 0,
      band: bandOf(score),
      ...(typeof crmId === 'string' ? { crm_id: crmId } : {}),
      ...(typeof fields === 'string' ? { fields } : {}),
    };
  });
}
