import type { Db } from 'mongodb';
import { callsCollection } from '../../../shared/store/calls/prediction-segment.js';
import type { LedgerRow } from '../../../shared/store/calls/usage-ledger.js';
import type { CallShape } from '../scenarios.js';
import type { FloorScorer } from './floor-scorer.js';
import type { SampledCall } from './messages.js';

export interface HttpReply {
  readonly status: number;
  /** Status line and headers. */
  readonly head: string;
  readonly body: Buffer;
}

/** Header of the bare queue's replies with the Unix ms that ages were counted to: it has no ledger. */
export const scoredAtHeader = 'X-Scored-At';

/**
 * Checks the status, the number of rows and the counted records of a reply.
 * @throws Error with the beginning of a wrong reply
 */
export function checkReply(
  { status, body }: HttpReply,
  sent: { readonly shape: CallShape; readonly records: number },
): void {
  const rows = status === 200 ? countOf(body, '"score":') : 0;
  const isCounted = sent.shape === 'webhook' || body.includes(`"records_scored":${sent.records},`);
  if (status === 200 && rows === sent.records && isCounted) return;
  const beginning = body.toString('utf8', 0, 300);
  throw new Error(`a call of ${sent.records} records was answered ${status} with ${rows} rows: ${beginning}`);
}

function countOf(bytes: Buffer, mark: string): number {
  let count = 0;
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + mark.length)) count += 1;
  return count;
}

/** Keeps a checked call for `compareWithFloor`. */
export function sampleOf(shape: CallShape, body: Buffer, reply: HttpReply): SampledCall {
  const scoredAt = headerOf(reply, scoredAtHeader);
  return {
    shape,
    body: body.toString('utf8'),
    requestId: headerOf(reply, 'X-Request-Id') ?? '',
    scoredAtMs: scoredAt === undefined ? undefined : Number(scoredAt),
    reply: reply.body.toString('utf8'),
  };
}

const headerOf = ({ head }: HttpReply, name: string): string | undefined =>
  new RegExp(`^${name}: (.+)$`, 'im').exec(head)?.[1]?.trim();

interface ScoredRow {
  readonly score: number;
  readonly conversion_likelihood: number;
  readonly crm_id?: string;
  readonly warnings?: readonly string[];
}

/**
 * Compares scores, likelihoods, crm_ids and warnings of sampled replies with the floor's. Dates become ages, so the
 * floor scores at the time of the call, from the ledger or from the reply.
 * @returns number of compared rows
 * @throws Error naming the first different row, or a call that is missing in the ledger
 */
export async function compareWithFloor(
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
    for (const [index, row] of expected.entries()) {
      const [ours, floors] = [textOf(answered[index]), textOf(row)];
      if (ours !== floors) throw new Error(`the service answered ${ours}, but the floor ${floors}`);
    }
    rows += expected.length;
  }
  return rows;
}

/** Converts the body of a webhook to a batch of one. */
function batchBody({ shape, body }: SampledCall): string {
  if (shape !== 'webhook') return body;
  const { model_id, crm_id, record } = JSON.parse(body) as Record<'model_id' | 'crm_id' | 'record', object>;
  return JSON.stringify({ model_id, records: [{ crm_id, ...record }] });
}

function rowsOf(reply: string, shape: CallShape): readonly ScoredRow[] {
  const parsed = JSON.parse(reply) as ScoredRow & { readonly scores?: readonly ScoredRow[] };
  return shape === 'webhook' ? [parsed] : (parsed.scores ?? []);
}

const textOf = (row: ScoredRow | undefined): string =>
  JSON.stringify([row?.score, row?.conversion_likelihood, row?.crm_id, row?.warnings ?? []]);
