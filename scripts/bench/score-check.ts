import type { Db } from 'mongodb';
import { callsCollection } from '../../shared/store/calls-collection.js';
import type { LedgerRow } from '../../shared/store/usage-ledger.js';
import type { FloorScorer } from './floor-scorer.js';
import type { SampledCall } from './load-messages.js';

interface ScoredRow {
  readonly score: number;
  readonly conversion_likelihood: number;
  readonly crm_id?: string;
  readonly warnings?: readonly string[];
}

/**
 * Compares sampled replies with what the floor makes of the same records at the time that the ledger, or else the reply,
 * holds for the call (dates become ages, so the time matters). Scores, likelihoods, crm_ids and warnings must be the same.
 * @returns how many rows were compared
 * @throws Error naming the first row that differs, or a call that is not in the ledger
 */
export async function checkScores(
  samples: readonly SampledCall[],
  { scorer, database }: { readonly scorer: FloorScorer; readonly database: Db },
): Promise<number> {
  const requestIds = samples.flatMap((sample) => (sample.scoredAtMs === undefined ? sample.requestId : []));
  const ledger = database.collection<LedgerRow>(callsCollection);
  const calls = await ledger.find({ request_id: { $in: requestIds } }).toArray();
  const timeOf = new Map(calls.map((row) => [row.request_id, row.at.getTime()]));
  let rows = 0;
  for (const sample of samples) {
    const nowMs = sample.scoredAtMs ?? timeOf.get(sample.requestId);
    if (nowMs === undefined) throw new Error(`an answered call is not in the ledger: ${sample.requestId}`);
    const expected = rowsOf(await scorer.answer(batchBody(sample), nowMs), 'batch');
    const answered = rowsOf(sample.reply, sample.shape);
    for (const [index, row] of expected.entries()) compareRow(answered[index], row);
    rows += expected.length;
  }
  return rows;
}

/** A webhook's body as the batch of one that it stands for. */
function batchBody({ shape, body }: SampledCall): string {
  if (shape !== 'webhook') return body;
  const { model_id, crm_id, record } = JSON.parse(body) as Record<'model_id' | 'crm_id' | 'record', object>;
  return JSON.stringify({ model_id, records: [{ crm_id, ...record }] });
}

function rowsOf(reply: string, shape: SampledCall['shape']): readonly ScoredRow[] {
  const parsed = JSON.parse(reply) as ScoredRow & { readonly scores?: readonly ScoredRow[] };
  return shape === 'webhook' ? [parsed] : (parsed.scores ?? []);
}

function compareRow(answered: ScoredRow | undefined, expected: ScoredRow): void {
  const text = (row: ScoredRow | undefined) =>
    JSON.stringify([row?.score, row?.conversion_likelihood, row?.crm_id, row?.warnings ?? []]);
  if (text(answered) === text(expected)) return;
  throw new Error(`the service answered ${text(answered)} where the floor says ${text(expected)}`);
}
