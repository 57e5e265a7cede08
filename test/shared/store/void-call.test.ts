import { expect } from 'chai';
import { callIdGenerator } from '../../../shared/contract/identifiers.js';
import { IdempotencyStore } from '../../../shared/store/calls/idempotency.js';
import { UsageLedger } from '../../../shared/store/calls/usage-ledger.js';
import { voidCall } from '../../../shared/store/calls/void-call.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { inTransaction } from '../../../shared/store/connection/transaction.js';
import { type SliceOutcome, sliceId } from '../../../shared/store/jobs/job-documents.js';
import { SliceStore } from '../../../shared/store/jobs/job-slices.js';
import { freshDatabases } from '../../support/service/servers.js';
import { type Stores, storesOn } from '../../support/service/stores.js';

const hourMs = 60 * 60 * 1_000;

describe('voidCall', () => {
  let mongo: Mongo;
  let stores: Stores;
  const newCallId = callIdGenerator();

  before(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
    await prepareDatabase(mongo.database);
    stores = storesOn(mongo.database);
  });
  after(() => mongo.client.close());

  /** Records a call with a stored reply. */
  async function recordedCall(reply: { readonly replayed_at?: Date } = {}): Promise<string> {
    const [at, callId] = [new Date(), newCallId(Date.now(), 'org')];
    const of = { request_id: callId, org: 'org', key: 'key', bucket: 'live', month: '2026-02' } as const;
    await stores.ledgerRows.insertOne({ _id: callId, ...of, records: 1, model: 'mdl', version: '1', at });
    const stored = { _id: `org:live:${callId}`, call_id: callId, body_hash: '', reply: '{}', expires_at: at };
    await stores.replies.insertOne({ ...stored, ...reply });
    return callId;
  }
  const voided = (callId: string, ageMs = 0) =>
    voidCall(
      { organisationId: 'org', callId },
      {
        client: mongo.client,
        ledger: new UsageLedger(mongo.database, { now: () => Date.now() + ageMs }),
        idempotency: new IdempotencyStore(mongo.database),
        slices: new SliceStore(mongo.database),
      },
    );
  const left = async (callId: string) => ({
    isCounted: (await stores.ledger.recordedCalls([callId])).has(callId),
    replies: await stores.replies.countDocuments({ call_id: callId }),
  });

  it('removes the ledger row and the stored reply, also when it is repeated', async () => {
    const callId = await recordedCall();
    for (let time = 0; time < 2; time += 1) {
      expect(await voided(callId)).to.equal(true);
      expect(await left(callId)).to.deep.equal({ isCounted: false, replies: 0 });
    }
  });

  it('opens the slice of the call again, unless its results are shown', async () => {
    const slices = new SliceStore(mongo.database);
    const counts = { scored: 1, failed: 0, empty: 0, result_bytes: 3, result_gzip_bytes: 4 };
    const start = { result_bytes: 0, result_gzip_bytes: 0, error_bytes: 0, error_gzip_bytes: 0 };
    const slice = { number: 0, rows: 1, first_row: 1, first_line: 2 };
    const range = { from: 0, to: 3, first_part: 0, last_part: 0 };
    for (const [isShown, open, place] of [
      [false, 'pending', {}],
      [false, 'ranged', { range }],
      [true, 'pending', {}],
    ] as const) {
      const callId = await recordedCall();
      const jobId = `job_${callId}`;
      const id = sliceId(jobId, 0);
      await slices.add(jobId, [{ slice: { ...slice, ...place }, input: Buffer.from('row') }]);
      expect((await slices.find(id))?.state).to.equal(open);
      const outcome: SliceOutcome = { ...start, ...counts, call_id: callId, done_at: new Date() };
      const rows = { results: Buffer.from('scored'), errors: undefined };
      await inTransaction(mongo.client, (options) => slices.finish(id, outcome, rows, options), { timeoutMs: 5_000 });
      const other = { _id: id, outcome: { ...outcome, call_id: 'another call' } };
      expect(await slices.settle([{ slice: other, start }])).to.equal(false);
      if (isShown) expect(await slices.settle([{ slice: { _id: id, outcome }, start }])).to.equal(true);
      expect(await voided(callId)).to.equal(!isShown);
      expect(await left(callId)).to.deep.equal({ isCounted: isShown, replies: isShown ? 1 : 0 });
      expect((await slices.find(id))?.state).to.equal(isShown ? 'settled' : open);
      expect(String(await slices.read(id, 'results'))).to.equal(isShown ? 'scored' : 'undefined');
      expect(String(await slices.read(id, 'input'))).to.equal('row');
    }
  });

  it('returns false and changes nothing when the reply was replayed, or the call is older than 13 h', async () => {
    const replayed = await recordedCall({ replayed_at: new Date() });
    const old = await recordedCall();
    expect([await voided(replayed), await voided(old, 14 * hourMs)]).to.deep.equal([false, false]);
    for (const callId of [replayed, old]) expect(await left(callId)).to.deep.equal({ isCounted: true, replies: 1 });
  });
});
