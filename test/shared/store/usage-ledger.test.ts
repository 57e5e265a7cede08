import { expect } from 'chai';
import { callIdGenerator, newId } from '../../../shared/contract/identifiers.js';
import type { UsageCounter } from '../../../shared/redis/keys.js';
import { UsageLedger } from '../../../shared/store/calls/usage-ledger.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { documentsOfCall } from '../../support/service/prediction-rows.js';
import { freshDatabases } from '../../support/service/servers.js';
import { profile } from '../../support/service/shard-keys.js';
import { type Stores, storesOn } from '../../support/service/stores.js';

const nowMs = Date.UTC(2026, 1, 10);
const minuteMs = 60_000;

describe('UsageLedger.snapshot', () => {
  let mongo: Mongo;
  let ledger: UsageLedger;
  let stores: Stores;
  let counter: UsageCounter;
  const newCallId = callIdGenerator();

  before(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
    await prepareDatabase(mongo.database);
    stores = storesOn(mongo.database);
    ledger = new UsageLedger(mongo.database, { now: () => nowMs });
  });
  after(() => mongo.client.close());
  beforeEach(() => {
    counter = { organisationId: newId('org'), bucket: 'live', month: '2026-02' };
  });

  /** Records a call; returns its id. */
  async function record(call: { records: number; ageMs: number; on?: Partial<UsageCounter> }) {
    const { records, ageMs, on } = call;
    const { organisationId: org, bucket, month } = { ...counter, ...on };
    const at = new Date(nowMs - ageMs);
    const _id = newCallId(at.getTime(), org);
    await stores.calls.insertMany(documentsOfCall({ _id, org, bucket, month, records, at }));
    return _id;
  }
  const snapshot = () => ledger.snapshot(counter, { recentMs: minuteMs, nowMs });

  it('is empty for an unused counter', async () => {
    expect(await snapshot()).to.deep.equal({ records: 0, recent: [] });
  });

  it('returns the sum of a counter and each of its recent calls', async () => {
    await record({ records: 1, ageMs: minuteMs + 1 });
    await record({ records: 250, ageMs: 24 * 60 * minuteMs });
    const atTheEdge = await record({ records: 4, ageMs: minuteMs });
    const recent = await record({ records: 120, ageMs: 0 });
    for (const on of [{ bucket: 'test' }, { month: '2026-01' }, { organisationId: newId('org') }] as const)
      await record({ records: 1_000, ageMs: 0, on });
    const found = await snapshot();
    expect(found.records).to.equal(1 + 250 + 4 + 120);
    expect(found.recent).to.have.deep.members([
      { callId: atTheEdge, records: 4 },
      { callId: recent, records: 120 },
    ]);
    expect(await ledger.sum(counter)).to.equal(found.records);
  });

  it('leaves out a voided call', async () => {
    const kept = await record({ records: 2, ageMs: 0 });
    const callId = await record({ records: 150, ageMs: 0 });
    await mongo.client.withSession((session) =>
      session.withTransaction(() => ledger.voidCall(callId, { session, signal: AbortSignal.timeout(5_000) })),
    );
    expect(await snapshot()).to.deep.equal({ records: 2, recent: [{ callId: kept, records: 2 }] });
  });

  it('examines only the calls that it is asked for, whatever calls of other organisations lie between', async () => {
    const organisations = ['org_a00000', 'org_m00000', 'org_z00000'];
    const [first, , last] = organisations.map((organisationId) => ({ ...counter, organisationId }));
    const ids = [
      await record({ records: 1, ageMs: 0, on: { ...first } }),
      await record({ records: 2, ageMs: 0, on: { ...last } }),
    ];
    for (let call = 0; call < 100; call += 1)
      await record({ records: 1, ageMs: call, on: { organisationId: 'org_m00000' } });
    await profile(mongo.database);
    expect([...(await ledger.recordedCalls(ids))]).to.have.members(ids);
    expect(await ledger.sum(last ?? counter)).to.equal(2);
    await ledger.snapshot(last ?? counter, { recentMs: minuteMs, nowMs });
    const noted = await mongo.database
      .collection('system.profile')
      .find({ ns: /\.calls$/ })
      .toArray();
    expect(noted.map(({ keysExamined, docsExamined }) => Math.max(keysExamined, docsExamined))).to.have.length(4);
    for (const { keysExamined, docsExamined } of noted) expect(Math.max(keysExamined, docsExamined)).to.be.within(1, 3);
  });
});
