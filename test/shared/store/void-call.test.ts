import { expect } from 'chai';
import { callIdGenerator } from '../../../shared/contract/identifiers.js';
import { IdempotencyStore } from '../../../shared/store/calls/idempotency.js';
import { UsageLedger } from '../../../shared/store/calls/usage-ledger.js';
import { voidCall } from '../../../shared/store/calls/void-call.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { freshDatabases } from '../../support/service/servers.js';
import { type Stores, storesOn } from '../../support/service/stores.js';

const hourMs = 60 * 60 * 1_000;

describe('voidCall', () => {
  let mongo: Mongo;
  let stores: Stores;
  const newCallId = callIdGenerator();

  before(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
    stores = storesOn(mongo.database);
  });
  after(() => mongo.client.close());

  /** Records a call with a stored reply. */
  async function recordedCall(reply: { readonly replayed_at?: Date } = {}): Promise<string> {
    const [at, callId] = [new Date(), newCallId(Date.now())];
    const of = { request_id: callId, org: 'org', key: 'key', bucket: 'live', month: '2026-02' } as const;
    await stores.ledgerRows.insertOne({ _id: callId, ...of, records: 1, model: 'mdl', version: '1', at });
    const stored = { _id: `org:live:${callId}`, call_id: callId, body_hash: '', reply: '{}', expires_at: at };
    await stores.replies.insertOne({ ...stored, ...reply });
    return callId;
  }
  const voided = (callId: string, ageMs = 0) =>
    voidCall(callId, {
      client: mongo.client,
      ledger: new UsageLedger(mongo.database, { now: () => Date.now() + ageMs }),
      idempotency: new IdempotencyStore(mongo.database),
    });
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

  it('returns false and changes nothing when the reply was replayed, or the call is older than 13 h', async () => {
    const replayed = await recordedCall({ replayed_at: new Date() });
    const old = await recordedCall();
    expect([await voided(replayed), await voided(old, 14 * hourMs)]).to.deep.equal([false, false]);
    for (const callId of [replayed, old]) expect(await left(callId)).to.deep.equal({ isCounted: true, replies: 1 });
  });
});
